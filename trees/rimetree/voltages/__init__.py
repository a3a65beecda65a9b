"""Voltages of receivers: made from a sky, read in other programs' orders, and correlated."""
