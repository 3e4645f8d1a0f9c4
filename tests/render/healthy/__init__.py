"""Scenes in which nothing failed, whatever the lines look like."""
