"""The documentation: its generated pages, its pictures, its links and its commands."""
