"""The report: one self-contained HTML file, from the templates, scripts and styles in this folder."""
