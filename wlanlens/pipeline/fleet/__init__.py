"""`collect`: the small tables of many runs in one place each, and what reads them."""
