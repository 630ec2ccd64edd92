"""The report: one self-contained HTML file (templates, scripts and style lie beside this file)."""

from wlanlens.report.page import write

__all__ = ["write"]
