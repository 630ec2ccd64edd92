"""Synthetic worlds: their description, their captures, and what really happened in them."""
