"""Recognise the capture that was analysed: a stranger's analysis could name any file of the reader's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from wlanlens.capture.capture import Capture
from wlanlens.errors import WlanlensError
from wlanlens.formatting import printable

if TYPE_CHECKING:
    from wlanlens.capture.decryption_keys import Keys


def same_capture(
    stored: Capture,
    given: bytes | None = None,
    *,
    option: str = "",
    keys: Keys | Iterable[str] | None = None,
) -> Capture:
    """The capture behind the description of an analysed one.

    Parameters
    ----------
    stored : Capture
        The description, as `load` reads it.
    given : bytes, optional
        Where the capture is now; by default where it was.
    option : str
        What the user can do where it is not there: "--capture FILE names the capture".
    keys : Keys or iterable of str, optional
        As in `open`.

    Returns
    -------
    Capture

    Raises
    ------
    WlanlensError
        It was standard input, is not there, or is another file: its size or its first bytes differ.
    """
    again = f"analyse it again, or {option}" if option else "analyse it again"
    if given is None and stored.path == "-":
        raise WlanlensError(
            "the capture was read from standard input", next=f"{option} if it was saved" if option else ""
        )
    if given is None and stored.info.get("head_sha256") is None:
        raise WlanlensError(
            "the analysis does not say by which bytes this capture is recognised",
            path=printable(stored.path),
            next=again,
        )
    capture = Capture(stored.raw_path if given is None else given, name=stored.name, keys=keys)
    _check(capture, stored.info, option, again)
    return capture


def _check(capture: Capture, info: dict[str, object], option: str, again: str) -> None:
    path = printable(capture.path)
    try:
        size = capture.size_bytes()
    except FileNotFoundError:
        raise WlanlensError("the capture is no longer there", path=path, next=option) from None
    if size is None:
        raise WlanlensError("the capture is not a regular file", path=path, next=option)
    if info.get("size_bytes") not in (None, size):
        changed = f"it has {size} bytes, not {info['size_bytes']}"
    elif info.get("head_sha256") not in (None, capture.head_sha256()):
        changed = "its first bytes differ"
    else:
        return
    raise WlanlensError(f"this is not the capture that was analysed: {changed}", path=path, next=again)
