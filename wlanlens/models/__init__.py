"""One closed-form model a file (see `wlanlens.model`)."""
