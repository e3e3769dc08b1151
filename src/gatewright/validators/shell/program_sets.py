"""Sets of program names for the shell policy: overwrite files, run tests, show services' environments, copy or move without editing."""

__all__ = ["KEEPING", "REPLACING", "SERVING", "TESTING"]

REPLACING = frozenset("tee sponge dd uniq guniq cp gcp mv gmv install ginstall ln gln".split())
"""What puts something else in place of a file that it is given."""
TESTING = frozenset(
    "pytest|py.test|python -m unittest|python3 -m unittest|jest|vitest|vitest run|mocha|ava|tap|bun test|"
    "deno test|rspec|phpunit|pest|bats|go test|cargo test|ruff|mypy|npm test".split("|")
)
"""What runs tests, by whatever name."""
SERVING = ("docker", "podman", "nerdctl", "systemctl", "envsubst")
"""What shows the environment of services, or fills it in."""
KEEPING = frozenset(
    "cp gcp mv gmv install ginstall ln gln link rename touch gtouch mkdir gmkdir chmod gchmod chown chgrp truncate gtruncate dos2unix unix2dos "
    "fromdos todos rsync tar gtar bsdtar gzip gunzip xz unxz bzip2 bunzip2 zstd unzstd zip unzip 7z patch mktemp fallocate mkfifo ditto rm grm".split()
)
"""What writes files as they were elsewhere, or changes nothing of what they say."""
