"""A test without an assertion cannot fail for the reason it was written for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent

#: Calls that assert.
ASSERTING = {"raises", "warns", "fail", "assert_array_equal", "assert_allclose", "assert_frame_equal"}


class Module:
    """The functions of a file of tests, and what its names mean."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        tree = ast.parse(text)
        self.functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        self.imported: dict[str, tuple[str, str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = (node.module or "", alias.name)

    def called(self, function: ast.FunctionDef) -> set[tuple[str, str]]:
        """(module, name) of the functions that a function calls."""
        out = set()
        for node in ast.walk(function):
            call = node.func if isinstance(node, ast.Call) else None
            if isinstance(call, ast.Name):
                out.add(self.imported.get(call.id, (self.name, call.id)))
            elif isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name):
                if call.value.id in ("self", "cls"):
                    out.add((self.name, call.attr))
                else:
                    out.add((".".join(self.imported.get(call.value.id, ("", call.value.id))).strip("."), call.attr))
            elif isinstance(call, ast.Attribute):
                out.add(("", call.attr))
        return out


def without_assertion(texts: dict[str, str]) -> list[str]:
    """Tests that neither assert nor call a function of these files that does."""
    modules = [Module(name, text) for name, text in texts.items()]
    functions = [(module, node, module.called(node)) for module in modules for node in module.functions]
    asserting = {
        (module.name, node.name)
        for module, node, called in functions
        if any(isinstance(part, ast.Assert) for part in ast.walk(node)) or any(name in ASSERTING for _, name in called)
    }
    while more := {(m.name, node.name) for m, node, called in functions if called & asserting} - asserting:
        asserting |= more
    return [
        f"{module.name}:{node.lineno} {node.name}"
        for module, node, _ in functions
        if node.name.startswith("test_") and (module.name, node.name) not in asserting
    ]


def test_every_test_asserts() -> None:
    paths = {".".join(path.relative_to(HERE.parent).with_suffix("").parts): path for path in HERE.rglob("*.py")}
    texts = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    assert len(texts) > 100
    assert without_assertion(texts) == []


@pytest.mark.parametrize(
    ("body", "caught"),
    [
        ("print(1)", True),
        ("assert 1", False),
        ("helper()", False),
        ("with pytest.raises(ValueError):\n        int('x')", False),
        ("other()", True),
    ],
)
def test_the_scan_catches_a_test_that_asserts_nothing(body: str, caught: bool) -> None:
    made = f"def helper():\n    assert 1\n\ndef other():\n    pass\n\ndef test_it():\n    {body}\n"
    assert bool(without_assertion({"tests.made": made})) == caught
