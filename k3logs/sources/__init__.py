"""Finding and opening logs: files, folders, archives, standard input."""
