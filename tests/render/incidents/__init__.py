"""Scenes in which something failed."""
