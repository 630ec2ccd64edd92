"""Compiled templates, kept as Python keeps its compiled modules: compiling them takes longer than filling them in."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

_FOLDER = Path(__file__).parent


class CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Keeps compiled templates in `__pycache__` beside the templates; where that cannot be written, none are kept.

    jinja2 compares the template. Compiled code also holds what our filters made of constants and the environment's
    options, so its name has a digest of the size and time of the package's sources.
    """

    def __init__(self) -> None:
        sources = sorted([*_FOLDER.glob("*.py"), _FOLDER.parent / "formatting.py"])
        known = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sources if path.exists()]
        digest = hashlib.sha256(repr((jinja2.__version__, known)).encode()).hexdigest()[:16]
        super().__init__(str(_FOLDER / "__pycache__"), f"template-{digest}-%s.{sys.implementation.cache_tag}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take a compiled template that was kept."""
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, if Python keeps compiled modules."""
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):  # a folder of the system, or one that is read-only
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)
