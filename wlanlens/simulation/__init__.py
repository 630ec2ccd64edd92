"""Simulated worlds: their description, their captures and their ground truth."""
