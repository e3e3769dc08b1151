"""`CliError`, by which a command ends with a message, a code for programs, a hint and an exit code; `Exit`: the exit codes."""

from __future__ import annotations

__all__ = ["CliError", "Exit"]


class Exit:
    """Exit codes; 3 to 5 are those of the official Inspector. `mcp/wire/codes.py` has one per reason."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    AUTHENTICATION = 3
    UNREACHABLE = 4
    TOOL_ERROR = 5
    DENIED = 6
    WAITING = 7
    PROBLEMS = 8
    NOT_KNOWN = 9
    INTERRUPTED = 130


class CliError(Exception):
    """A command cannot go on. `code` is a word for programs, `hint` says what to do."""

    def __init__(
        self, message: str, *, code: str, exit_code: int, hint: str = "", request_id: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.exit_code = exit_code
        self.hint = hint
        self.request_id = request_id
