"""One capture: its file and tables, its quality, the keys that decrypt it, and what it shows of a USB bus."""
