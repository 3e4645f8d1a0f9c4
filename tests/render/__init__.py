"""Small seeded renderers that write the rendered half of ``corpus/``.

Each scene prints what the programs of a deployment would have printed, in their own line formats, with a known
culprit. Nothing here imports k3logs: a mistake in a grammar must not be repeated in the log it is checked on.
"""
