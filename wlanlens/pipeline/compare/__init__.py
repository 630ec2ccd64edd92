"""Comparison of analyses: before and after, or several variants, each with one run or many."""
