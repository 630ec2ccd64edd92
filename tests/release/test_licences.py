"""Licences of everything that a release consists of, and one version in all files that name it."""

from __future__ import annotations

import re
import shutil
import tomllib

import pytest

from tests.captures import ROOT
from tools.release import parts

#: Licences that the distribution of wlanlens under Apache-2.0 can include.
PERMISSIVE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT",
    "PSF-2.0", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip
#: Packages under another licence, each explained in THIRD-PARTY.md.
EXPLAINED = {"scapy": "GPL-2.0-only"}

_TOKEN = re.compile(r"\(|\)|\bAND\b|\bOR\b|[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.+-]+)?")


def permitted(expression: str) -> bool:
    """Whether a licence expression can be met with permissive licences alone."""
    words = {"(": "(", ")": ")", "AND": "and", "OR": "or"}
    found = _TOKEN.findall(expression)
    if not found or "".join(found).replace(" ", "") != expression.replace(" ", ""):
        return False
    try:
        return bool(eval(" ".join(words.get(word, str(word in PERMISSIVE)) for word in found)))  # noqa: S307 - True, False, and, or
    except SyntaxError:  # words that are no expression
        return False


@pytest.mark.parametrize(
    ("expression", "right"),
    [
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-2.0-only) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only", False),
        ("", False),
        ("of its own kind", False),
    ],
)
def test_expressions(expression: str, right: bool) -> None:
    assert permitted(expression) is right


def test_crates_have_permissive_licences() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    found = parts.crates()
    assert {"pyo3", "arrow-array", "zeroize"} <= {part.name for part in found}
    assert not [part for part in found if not permitted(part.licence)]


def test_packages_have_permissive_licences_or_are_explained() -> None:
    found = parts.packages()
    assert {"numpy", "pyarrow", "scapy"} <= {part.name for part in found}
    third = (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8")
    for part in found:
        if part.name in EXPLAINED:
            assert part.licence == EXPLAINED[part.name]
            assert f"**{part.name} is {part.licence}.**" in third
        else:
            assert permitted(part.licence), part


def test_one_version_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cargo = tomllib.loads((ROOT / "rust" / "Cargo.toml").read_text(encoding="utf-8"))
    assert cargo["workspace"]["package"]["version"] == version
    for lock in ("rust/Cargo.lock", "rust/fuzz/Cargo.lock"):
        locked = tomllib.loads((ROOT / lock).read_text(encoding="utf-8"))["package"]
        own = {p["name"]: p["version"] for p in locked if p["name"] in ("wlanlens-core", "wlanlens-py", "wlanlens-sim")}
        assert own
        assert set(own.values()) == {version}
    changes = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert changes[0] == version
    assert re.search(rf"^version: {re.escape(version)}$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)


def test_documented_dependencies_are_those_of_the_package() -> None:
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {Requirement(line).name for line in project["dependencies"]}
    rows = re.findall(r"^\| `([a-z0-9]+)` \|", (ROOT / "docs" / "install.md").read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted(needed)


def test_the_citation_file_names_the_studies() -> None:
    from wlanlens.reproduction.experiment import STUDIES

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    entries = text.split("  - type: ")[1:]
    assert len(entries) == len(STUDIES)
    for name, title in STUDIES.items():
        (entry,) = (entry for entry in entries if f"the study {name}" in entry)
        assert title in entry
    assert all("authors of the study" in entry or "family-names" in entry for entry in entries)
    # The copies of these two name their authors.
    assert "Miorandi" in text
    assert "Vasudevan" in text
