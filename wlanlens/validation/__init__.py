"""Scoring of findings, clocks and links against the ground truth of simulations."""
