"""Scenarios: one simulated world in each file."""
