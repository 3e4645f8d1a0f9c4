"""Wrappers that a grammar cannot read: colours and JSON."""
