"""`python -m gatewright`, the same as the command `gatewright`."""

from gatewright.cli import main

if __name__ == "__main__":
    main()
