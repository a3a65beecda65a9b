"""Solutions with values drawn at random, for simulations."""
