"""Grammars of log lines and of nested messages: loading, compiling, checking."""
