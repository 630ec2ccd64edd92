"""Tables by name, and other values, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


class lazy_property(Generic[T]):
    """`functools.cached_property` without the lock that it has before Python 3.12: one for all objects of a class, so that no
    two threads make the value of two objects at a time. An object itself belongs to one thread."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy_property[T] | T:
        if instance is None:
            return self
        made = instance.__dict__[self._name] = self._make(instance)
        return made


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
