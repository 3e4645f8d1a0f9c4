"""Many incidents: a folder of them into Parquet, and the labelled ones against their truth."""
