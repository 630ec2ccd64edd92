"""`analyze`: captures to tables, findings, ledger and report, in one pass; `align`: the same tables in memory."""
