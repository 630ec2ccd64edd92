"""Closed-form models: frozen dataclasses of parameters with units, whose methods are the equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wlanlens.registry import Unit


class ModelKind(Unit):
    """A model on its shelf: a frozen dataclass whose fields are its parameters and whose methods are its equations."""

    def __init__(self, name: str, kind: type[Any]) -> None:
        super().__init__("models", name, kind.__module__, kind.__doc__ or "")
        self.kind = kind

    def __call__(self, **parameters: Any) -> Any:
        """The model with these parameters."""
        return self.kind(**parameters)


def model(name: str) -> Callable[[type[Any]], ModelKind]:
    """Put a frozen dataclass on the shelf `models`."""
    return lambda kind: ModelKind(name, kind)
