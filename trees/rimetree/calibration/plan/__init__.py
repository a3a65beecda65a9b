"""What is solved together: options, groups of data, trees, and where unknowns start from given solutions."""
