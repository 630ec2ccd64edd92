"""Captures on one time axis: which rows are the same packet, the order of capture points, and the clocks."""
