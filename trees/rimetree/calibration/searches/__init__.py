"""Searches over phases, delays, TEC and rates, antenna by antenna or over an interval, and the sums they read."""
