"""Settings and hooks of all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests import known_faults, slow
from tests.captures import ROOT

# Slow machines are no failures, and one seed gives one result.
settings.register_profile("wlanlens", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("wlanlens")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, mark tests that are not slow, and expect the cases of tests/known_faults.py to fail, strictly."""
    items.sort(key=lambda item: slow.begins(_file(item)))
    for item in items:
        if not slow.is_slow(_file(item)):
            item.add_marker(pytest.mark.fast)
        call = getattr(item, "callspec", None)
        wrong = known_faults.reason(item.originalname, call.params.get("name")) if call else None  # type: ignore[attr-defined]
        if wrong:
            item.add_marker(pytest.mark.xfail(reason=wrong, strict=True))


def _file(item: pytest.Item) -> str:
    """The file of a test, named below tests/."""
    return item.path.relative_to(ROOT / "tests").as_posix()
