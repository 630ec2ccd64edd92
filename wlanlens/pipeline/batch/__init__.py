"""`batch`: many traces, each analysed in a process of its own, on this machine or on a cluster."""
