"""`python -m gatewright`, the same as the command `gatewright`."""

from gatewright.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
