"""Keys of encrypted networks: where they come from. What they mean is decided in Rust, which also erases them.

A key line is Wireshark's: `wep:HEX`, `wpa-pwd:PASSPHRASE:SSID`, `wpa-pwd:PASSPHRASE` or `wpa-psk:HEX`, or the same as
its preference file has it, `"wpa-pwd","PASSPHRASE:SSID"`. Keys appear in no output, error or `repr`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from wlanlens import _core
from wlanlens.errors import BadKey, WlanlensError
from wlanlens.formatting import printable

#: Environment variables with keys: one a line; and, for a single key, one of its own.
MANY, ONE = "WLANLENS_KEYS", "WLANLENS_KEY"

#: Largest file of keys: 256 keys of 100 bytes with comments are far below; more is no key file.
FILE_BYTES = 1 << 20


class Keys:
    """Key lines that were checked; `origin` is said in errors.

    Raises
    ------
    BadKey
        With the number of the line and the form that it should have.
    """

    def __init__(self, lines: Iterable[str | bytes] = (), *, origin: str | None = None) -> None:
        if isinstance(lines, str | bytes):
            lines = [lines]
        self._lines = [os.fsencode(line) for line in lines]
        try:
            _core.check_keys(self._lines)
        except BadKey as error:
            error.path = origin
            raise

    def __repr__(self) -> str:
        return f"<Keys: {len(self._lines)} lines>"

    def __add__(self, other: Keys) -> Keys:
        return Keys(self._lines + other._lines)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __reduce__(self) -> Any:
        raise WlanlensError("keys are not written anywhere, so they cannot be pickled")

    def for_core(self) -> list[bytes]:
        """The lines as the reader takes them."""
        return self._lines


def of(keys: Keys | Iterable[str | bytes] | None) -> Keys:
    """Keys given as such or as lines."""
    return keys if isinstance(keys, Keys) else Keys(keys or (), origin="keys")


def from_file(path: str | bytes | os.PathLike[Any]) -> Keys:
    """Keys of a file, one a line; # begins a comment line."""
    name = printable(os.fsdecode(os.fspath(path)))
    with open(path, "rb") as file:
        data = file.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES:
        raise WlanlensError("a file of more than 1 MiB is no file of keys", path=name)
    return Keys(data.removeprefix(b"\xef\xbb\xbf").splitlines(), origin=name)


def from_environment() -> Keys:
    """Keys of WLANLENS_KEYS, one a line, and the key of WLANLENS_KEY."""
    many = Keys(os.environ.get(MANY, "").splitlines(), origin=MANY)
    return many + Keys([os.environ.get(ONE, "")], origin=ONE)
