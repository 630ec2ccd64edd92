"""Settings of the documentation site: `make site`. It reads without a network: no fonts, scripts or pictures from elsewhere."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
project = "wlanlens"
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
version = release
copyright = "the wlanlens authors, Apache-2.0"  # noqa: A001 - Sphinx reads this name

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = f"wlanlens {release}"
html_copy_source = False
html_show_sphinx = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False

#: Files of the repository that pages link to and that are no pages of the site.
_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./[A-Z][A-Z-]+\.(?:md|cff)(?:#[a-z-]+)?\)")


def setup(app):
    """On the site, a link to a file outside docs/ is its text."""
    app.connect("source-read", lambda app, name, text: text.__setitem__(0, _OUTSIDE.sub(r"\1", text[0])))

# Types of parameters are words here ("path", "str or None"), not references.
suppress_warnings = ["ref.python"]
