"""One published experiment a file, reproduced beside its numbers (see `wlanlens.paper`)."""
