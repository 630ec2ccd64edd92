"""One closed-form model in each file (see `wlanlens.reproduction.model`)."""
