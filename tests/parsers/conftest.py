"""Fixtures for the shelf of parsers."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from typing import Any

import pytest

from tests.parsers import toy
from tests.parsers.toy import Add
from wlanlens import registry
from wlanlens.registry import Container


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Install a package with a container."""

    def install(container: Container = toy.unit) -> None:
        class Point:
            name, value = container.name, "toys:unit"

            def load(self) -> Any:
                return toy if container is toy.unit else container

        monkeypatch.setattr(
            importlib.metadata, "entry_points", lambda group=None: [Point()] if group == "wlanlens.parsers" else []
        )
        registry.units.cache_clear()

    yield install
    registry.units.cache_clear()
