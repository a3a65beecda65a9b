"""Fits of all directions together, from coherences: where they start, their turns, and their lowest minima."""
