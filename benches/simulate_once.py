"""One simulation, in this process.

python benches/simulate_once.py SCENARIO OUT nothing|captures|all [KEY=VALUE...]     (OUT "" writes nothing)
"""

from __future__ import annotations

import sys
from typing import Any

import wlanlens as wl


def main(words: list[str]) -> None:
    name, out, writes, *settings = words
    parameters: dict[str, Any] = dict(s.split("=", 1) for s in settings)
    wl.simulate(name, out or None, truth=writes == "all", **parameters)


if __name__ == "__main__":
    main(sys.argv[1:])
