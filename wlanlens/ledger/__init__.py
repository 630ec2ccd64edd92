"""Where every second of a data direction's life went."""
