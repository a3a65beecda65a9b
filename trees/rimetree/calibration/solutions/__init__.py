"""Solutions: kept, read and written, chosen, turned into Jones matrices, and applied to data."""
