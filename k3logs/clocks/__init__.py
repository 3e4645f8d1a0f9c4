"""When a line was printed, on one clock for all nodes."""
