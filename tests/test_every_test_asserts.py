"""A test without an assertion cannot fail for the reason it was written for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent

#: Calls that assert.
ASSERTING = {"raises", "warns", "fail", "assert_array_equal", "assert_allclose", "assert_frame_equal"}


def called(function: ast.AST) -> set[str]:
    """Last names of all functions called in a function."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {
        call.attr if isinstance(call, ast.Attribute) else call.id
        for call in calls
        if hasattr(call, "attr") or hasattr(call, "id")
    }


def without_assertion(texts: dict[str, str]) -> list[str]:
    """Tests that neither assert nor call a function of these files that does."""
    functions = [
        (file, node)
        for file, text in texts.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    ]
    asserting = ASSERTING | {
        node.name for _, node in functions if any(isinstance(part, ast.Assert) for part in ast.walk(node))
    }
    while more := {node.name for _, node in functions if called(node) & asserting} - asserting:
        asserting |= more
    return [
        f"{file}:{node.lineno} {node.name}"
        for file, node in functions
        if node.name.startswith("test_") and node.name not in asserting
    ]


def test_every_test_asserts() -> None:
    texts = {str(path.relative_to(HERE)): path.read_text(encoding="utf-8") for path in HERE.rglob("*.py")}
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
    assert bool(without_assertion({"made.py": made})) == caught
