"""Searches over phases, delays, TEC and rates, antenna by antenna or over a whole interval."""
