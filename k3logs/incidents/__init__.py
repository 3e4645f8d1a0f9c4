"""What failed, what followed from it, and which was first."""
