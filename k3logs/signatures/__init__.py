"""Known failure texts as data: one TOML file each, checked when loaded, matched by literal and pattern."""
