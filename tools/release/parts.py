"""The parts of a release: crates linked into the extension, and packages that pip installs with it."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


class Part(NamedTuple):
    """A crate or a package: its name, version, and SPDX licence expression ("" where it names none)."""

    kind: str
    name: str
    version: str
    licence: str


def crates() -> list[Part]:
    """Crates of other authors that the extension is built from, without those that only tests use."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", _target()]
    told = subprocess.run(command, cwd=ROOT / "rust", capture_output=True, text=True, check=True).stdout
    data = json.loads(told)
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    (start,) = (key for key, package in packages.items() if package["name"] == "wlanlens-py")
    seen, waiting = {start}, [start]
    while waiting:
        for below in nodes[waiting.pop()]["deps"]:
            if any(kind["kind"] != "dev" for kind in below["dep_kinds"]) and below["pkg"] not in seen:
                seen.add(below["pkg"])
                waiting.append(below["pkg"])
    found = [packages[key] for key in seen if packages[key]["source"]]
    parts = [Part("cargo", p["name"], p["version"], (p["license"] or "").replace("/", " OR ")) for p in found]
    return sorted(parts)


def _target() -> str:
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.removeprefix("host: ") for line in told.splitlines() if line.startswith("host: "))


def packages() -> list[Part]:
    """Packages that `pip install wlanlens` brings, as they are installed here."""
    seen: dict[str, Part] = {}
    waiting = ["wlanlens"]
    while waiting:
        for name in _needed(waiting.pop()):
            if name not in seen:
                found = importlib.metadata.distribution(name)
                seen[name] = Part("pypi", name, found.version, _licence(found))
                waiting.append(name)
    return sorted(seen.values())


def _needed(name: str) -> Iterator[str]:
    for line in importlib.metadata.requires(name) or ():
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield re.sub(r"[-_.]+", "-", wanted.name).lower()


#: What older packages write instead of an SPDX expression.
_WORDS = {
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "Dual License": "Apache-2.0 OR BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "Apache License, Version 2.0": "Apache-2.0",
}


def _licence(found: importlib.metadata.Distribution) -> str:
    if expression := found.metadata.get("License-Expression"):
        return expression
    classified = [
        line.rsplit(" :: ", 1)[-1]
        for line in found.metadata.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    short = (found.metadata.get("License") or "").split("\n")[0]
    named = [_WORDS.get(name, name) for name in classified if name != "OSI Approved"]
    return " AND ".join(sorted(set(named))) or _WORDS.get(short, short)
