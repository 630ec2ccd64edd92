"""Shelf: one file a pathology. Files that begin with an underscore are shared by them and no detectors."""
