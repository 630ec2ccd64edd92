"""Keys of encrypted networks, and where they come from. The core parses them and erases its copies.

A key line has Wireshark's form: `wep:HEX`, `wpa-pwd:PASSPHRASE:SSID`, `wpa-pwd:PASSPHRASE` or `wpa-psk:HEX`. The form of
Wireshark's preference file works too: `"wpa-pwd","PASSPHRASE:SSID"`. No output, error or `repr` contains a key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from wlanlens import _core
from wlanlens.errors import BadKey, WlanlensError, file_errors
from wlanlens.formatting import printable

#: Environment variables: the first has one key per line, the second has a single key.
MANY, ONE = "WLANLENS_KEYS", "WLANLENS_KEY"

#: Largest key file: 256 keys of 100 bytes with comments are much smaller.
FILE_BYTES = 1 << 20


class Keys:
    """Valid key lines. Errors name `origin`, where the lines come from.

    Raises
    ------
    BadKey
        A line is not valid. The error gives its number and the expected form.
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
        raise WlanlensError("keys are never written, so they cannot be pickled")

    def for_core(self) -> list[bytes]:
        """The lines, for the core's reader."""
        return self._lines


def of(keys: Keys | Iterable[str | bytes] | None) -> Keys:
    """`Keys`, from lines if they are not `Keys` yet."""
    return keys if isinstance(keys, Keys) else Keys(keys or (), origin="keys")


@file_errors()
def from_file(path: str | bytes | os.PathLike[Any]) -> Keys:
    """Keys from a file with one key per line. A line that begins with # is a comment."""
    name = printable(os.fsdecode(os.fspath(path)))
    with open(path, "rb") as file:
        data = file.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES:
        raise WlanlensError("a key file has at most 1 MiB", path=name)
    return Keys(data.removeprefix(b"\xef\xbb\xbf").splitlines(), origin=name)


#: What the notes of encrypted frames say about their network's protection, as in the column `security` of `networks`.
SECURITY_OF_NOTE = {"enterprise_unread": "enterprise", "wpa3_unread": "sae"}


def needed_keys(security: Iterable[str]) -> str:
    """What to do to decrypt the frames of networks, as a clause.

    Parameters
    ----------
    security : iterable of str
        Their protections: values of the column `security` of `networks`.

    Returns
    -------
    str
        "give the network's key with --key-file"; with 802.1X the PMK is named, WPA3 and OWE need another capture point.
    """
    kinds, out = set(security), []
    if not kinds & {"enterprise", "sae", "owe"} or kinds & {"wep", "psk"}:
        out.append("give the network's key with --key-file")
    if "enterprise" in kinds:
        out.append(
            "with 802.1X each session has a key of its own: give its PMK with --key-file (wpa-psk:HEX, 64 digits; the authentication "
            "server has it), and capture the session's 4-way handshake"
        )
    if kinds & {"sae", "owe"}:
        out.append("WPA3 and OWE cannot be decrypted: capture at the sending host")
    return "; ".join(out)


def key_of_network(ssid: str | None, security: str | None) -> str:
    """The key that opens the frames of one network, and how to give it, as a clause.

    Parameters
    ----------
    ssid, security : str or None
        Its row in `networks`; None where unknown.
    """
    name = f"of {printable(ssid, limit=40)}" if ssid else "of the network"
    if security in ("sae", "owe"):
        return f"the frames {name} use WPA3 or OWE, which no key that can be given opens: capture at the sending host"
    if security == "enterprise":
        return (
            f"each session {name} has a key (802.1X): give its PMK with --key-file (line wpa-psk:HEX, 64 digits; the authentication "
            "server has it)"
        )
    if security == "wep":
        return f"give the WEP key {name} with --key-file (line wep:HEX)"
    said = f"give the passphrase {name} with --key-file (line wpa-pwd:PASSPHRASE:{printable(ssid, limit=40) if ssid else 'SSID'}"
    return f"{said}), and capture the station's 4-way handshake" + (
        "" if security == "psk" else "; of WEP, line wep:HEX"
    )


def from_environment() -> Keys:
    """Keys from WLANLENS_KEYS, one per line, and the key in WLANLENS_KEY."""
    many = Keys(os.environ.get(MANY, "").splitlines(), origin=MANY)
    return many + Keys([os.environ.get(ONE, "")], origin=ONE)
