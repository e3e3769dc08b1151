"""Foreign programs, started the way their own documentation starts them. They run in the
environments that `make peers` builds, so nothing here imports anything of the gateway."""
