"""Airtime: what the channel was used for, in sums by purpose, station, flow and time."""

from wlanlens.airtime.accumulator import Air, of_tables
from wlanlens.airtime.purposes import GROUPS, PLAIN
from wlanlens.airtime.summary import Summary

__all__ = ["GROUPS", "PLAIN", "Air", "Summary", "of_tables"]
