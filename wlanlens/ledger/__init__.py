"""The ledger: every nanosecond of a data flow in exactly one category of what the sender waited for."""
