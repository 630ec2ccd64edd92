"""Published experiments: run them and compare with the published numbers."""
