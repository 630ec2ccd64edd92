"""Imports of the Rust crates form no circle, and no source file is long. Read from the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.captures import ROOT

RUST = ROOT / "rust"
CRATES = ("core", "sim", "py", "fuzz")
MOST_LINES = 500

#: The only modules that import each other: a header names the protocol of its payload, and tunnels lead back
#: (IP in GRE in IP, Ethernet in GRE, any link type in PPI). rust/core/src/wire/mod.rs says so too.
DECODERS = {
    "core": [
        {"wire", "wire::ppi"},
        {f"wire::{name}" for name in ("ethernet", "gre", "ip", "ipv4", "ipv6", "llc", "mpls", "ppp")},
    ]
}


class Module:
    """One source file: its path of names, its text without comments, strings and tests."""

    def __init__(self, name: tuple[str, ...], path: Path) -> None:
        self.name = name
        self.path = path
        text = path.read_text(encoding="utf-8")
        self.lines = len(without_tests(text).splitlines())
        code = without_comments(text)
        self.tests = set(re.findall(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);", code))
        self.code = without_tests(code)
        self.children = set(re.findall(r"\bmod (\w+);", code))
        self.uses = [path for tree in re.findall(r"\buse ([^;]+);", self.code) for path in paths(tree)]
        #: Names that it re-exports, and from where.
        self.reexports = {
            name: path
            for tree in re.findall(r"\bpub(?:\([a-z]+\))? use ([^;]+);", self.code)
            for path in paths(tree)
            for name in [path[-1]]
        }


def without_comments(text: str) -> str:
    """Rust source without comments and the contents of its strings."""
    pattern = r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\''
    return re.sub(pattern, lambda m: " " if m[0].startswith("/") else '""', text, flags=re.DOTALL)


def without_tests(text: str) -> str:
    """Rust source without its inline module of tests, which comes last."""
    return re.split(r"^#\[cfg\(test\)\]\s*mod \w+ \{", text, maxsplit=1, flags=re.MULTILINE)[0]


def paths(tree: str) -> list[tuple[str, ...]]:
    """The paths that one use tree names: `a::{b, c::d as e}` is (a, b) and (a, c, d)."""
    tree = re.sub(r"\s+as\s+\w+", "", tree)
    tree = re.sub(r"\s+", "", tree)
    head, brace, rest = tree.partition("{")
    if not brace:
        return [tuple(part for part in tree.split("::") if (part and part != "self") or part == tree.split("::")[0])]
    prefix = tuple(part for part in head.split("::") if part)
    out = []
    depth, start, body = 0, 0, rest[: rest.rindex("}")] + ","
    for at, char in enumerate(body):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            if body[start:at]:
                out += [prefix + (() if inner == ("self",) else inner) for inner in paths(body[start:at])]
            start = at + 1
    return out


@cache
def modules(crate: str) -> dict[tuple[str, ...], Module]:
    """Every module of a crate but its tests, by the names that lead to it; the root is ()."""
    out: dict[tuple[str, ...], Module] = {}
    src = RUST / crate / "src"

    def add(name: tuple[str, ...], path: Path) -> None:
        module = out[name] = Module(name, path)
        folder = path.parent if path.stem in {"mod", "lib", "main"} else path.parent / path.stem
        for child in sorted(module.children - module.tests):
            flat, nested = folder / f"{child}.rs", folder / child / "mod.rs"
            add((*name, child), flat if flat.exists() else nested)

    add((), src / "lib.rs")
    for binary in sorted((src / "bin").glob("*.rs")):
        out[("bin", binary.stem)] = Module(("bin", binary.stem), binary)
    return out


def resolve(crate: str, here: tuple[str, ...], path: tuple[str, ...], depth: int = 0) -> tuple[str, ...] | None:
    """The module that defines what a path names; None: another crate's."""
    all_modules = modules(crate)
    parts = list(path)
    at: tuple[str, ...]
    if parts[0] == "crate":
        at, parts = (), parts[1:]
    elif parts[0] in {"super", "self"}:
        at = here
        while parts and parts[0] in {"super", "self"}:
            at = at[:-1] if parts[0] == "super" else at
            parts = parts[1:]
    elif parts[0] in all_modules[here].children and (*here, parts[0]) in all_modules:
        at = here
    else:
        return None
    while parts and (*at, parts[0]) in all_modules:
        at, parts = (*at, parts[0]), parts[1:]
    if parts and parts[0] in all_modules[at].reexports and depth < 10:
        found = resolve(crate, at, all_modules[at].reexports[parts[0]], depth + 1)
        return found if found is not None else at
    return at


@cache
def graph(crate: str) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Which module uses which: by `use`, and by paths inside the code."""
    out = {}
    for name, module in modules(crate).items():
        inline = [tuple(m.split("::")) for m in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", module.code)]
        inline += [(c, x) for c in module.children for x in re.findall(rf"(?<![:\w]){c}::(\w+)", module.code)]
        found = {resolve(crate, name, path) for path in [*module.uses, *inline]}
        out[name] = {m for m in found if m is not None and m != name}
    return out


def circles(crate: str) -> Iterator[set[str]]:
    """The sets of modules of a crate that import each other, directly or through others."""
    edges = graph(crate)

    def closure(start: tuple[str, ...]) -> set[tuple[str, ...]]:
        seen: set[tuple[str, ...]] = set()
        todo = list(edges[start])
        while todo:
            here = todo.pop()
            if here not in seen:
                seen.add(here)
                todo += edges[here]
        return seen

    reached = {name: closure(name) for name in edges}
    done: set[tuple[str, ...]] = set()
    for name in edges:
        part = {other for other in reached[name] if name in reached[other]}
        if part and name not in done:
            done |= part
            yield {"::".join(other) or "lib" for other in part}


@pytest.mark.parametrize("crate", CRATES)
def test_only_the_decoders_import_each_other(crate: str) -> None:
    assert list(circles(crate)) == DECODERS.get(crate, [])


@pytest.mark.parametrize("crate", CRATES)
def test_files_are_short(crate: str) -> None:
    """Inline tests at a file's end do not count; files of tests do."""
    long = {}
    for path in sorted((RUST / crate).rglob("*.rs")):
        if "target" not in path.relative_to(RUST).parts:
            lines = len(without_tests(path.read_text(encoding="utf-8")).splitlines())
            if lines > MOST_LINES:
                long[path.relative_to(RUST).as_posix()] = lines
    assert not long
