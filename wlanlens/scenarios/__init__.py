"""Synthetic worlds: one file each."""
