"""`analyze`: from capture files to tables, findings, ledger and report, in one pass."""
