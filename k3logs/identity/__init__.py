"""Which process of which rank on which node printed a line."""
