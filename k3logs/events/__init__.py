"""Bytes to lines, lines to headers and messages, messages to records."""
