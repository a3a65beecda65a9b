"""Starting values of the Solver, and what is found to have no signal."""
