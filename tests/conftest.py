"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# Slow machines are no failures, and one seed gives one result.
settings.register_profile("wlanlens", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("wlanlens")
