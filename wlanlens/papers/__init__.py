"""One published experiment in each file, with its published numbers (see `wlanlens.reproduction.experiment`)."""
