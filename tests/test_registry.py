"""Shelves: one unit a file, found and not listed."""

from __future__ import annotations

import importlib.metadata
import types
from typing import Any

import pytest

from wlanlens import registry
from wlanlens.errors import RegistryError


def _detector(code: str) -> registry.Tool:
    @registry.detector(code, needs=("segments",))
    def unit(trace: Any, *, gap_ms: float = 200.0) -> list[Any]:
        """First line."""
        return [trace, gap_ms]

    return unit


def test_a_tool_calls_its_function() -> None:
    tool = _detector("x")
    assert tool("t", gap_ms=1.0) == ["t", 1.0]
    assert (tool.summary, tool.thresholds, tool.needs) == ("First line.", {"gap_ms": 200.0}, ("segments",))
    assert tool.missing(lambda table: table != "segments") == ("segments",)


def test_two_of_one_name_are_an_error() -> None:
    with pytest.raises(RegistryError, match="'x' is defined by"):
        registry.collect([_detector("x"), _detector("x")])


def test_a_module_defines_exactly_one() -> None:
    module = types.ModuleType("tests.test_registry")
    module.a = _detector("a")  # type: ignore[attr-defined]
    assert registry.unit_of(module, "detectors").name == "a"
    with pytest.raises(RegistryError, match="exactly one"):
        registry.unit_of(module, "plots")
    module.b = _detector("b")  # type: ignore[attr-defined]
    with pytest.raises(RegistryError, match="exactly one"):
        registry.unit_of(module, "detectors")


def test_unknown_shelf() -> None:
    with pytest.raises(RegistryError, match="no shelf"):
        registry.units("cupboards")


def test_other_packages_add_units(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name, value = "foreign", "elsewhere:unit"

        def load(self) -> registry.Tool:
            return _detector("foreign")

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Point()] if "detectors" in group else [])
    registry.units.cache_clear()
    try:
        assert "foreign" in registry.units("detectors")
    finally:
        registry.units.cache_clear()


def test_a_broken_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name, value = "foreign", "elsewhere:unit"

        def load(self) -> registry.Tool:
            raise ImportError("nothing there")

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [Point()])
    registry.units.cache_clear()
    with pytest.raises(RegistryError, match="elsewhere:unit"):
        registry.units("detectors")
    registry.units.cache_clear()
