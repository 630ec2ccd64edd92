"""Tables by name, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class LazyTables(Mapping[str, "pa.Table"]):
    """A mapping of table names to tables. Asking whether a table is there does not make it.

    Parameters
    ----------
    makers : mapping
        For each table a function without arguments that makes it. It is called once.
    """

    def __init__(self, makers: Mapping[str, Callable[[], pa.Table]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, pa.Table] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]
