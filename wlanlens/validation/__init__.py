"""Scoring: findings, clocks and links beside what really happened."""
