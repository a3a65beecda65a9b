"""Observations before there are data: times, antennas as the sky sees them, and sets that are made."""
