"""Sets of program names that the shell policy treats specially: programs that overwrite files, run tests, or serve over a port."""

__all__ = ["REPLACING", "SERVING", "TESTING"]

REPLACING = frozenset("tee sponge dd cp gcp mv gmv install ginstall ln gln".split())
"""What puts something else in place of a file that it is given."""
TESTING = frozenset(
    "pytest|py.test|python -m unittest|python3 -m unittest|jest|vitest|vitest run|mocha|ava|tap|bun test|"
    "deno test|rspec|phpunit|pest|bats|go test|cargo test|ruff|mypy|npm test".split("|")
)
"""What runs tests, by whatever name."""
SERVING = ("docker", "podman", "nerdctl", "systemctl", "envsubst")
"""What shows the environment of services, or fills it in."""
