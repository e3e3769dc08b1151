"""Reads a command's API key from `--key-file`, stdin, environment or `--key` (with a warning); `hidden` prompts without echo."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.global_options import KEY_FILE
from gatewright.cli.output import is_terminal, note
from gatewright.command_text import to_type

__all__ = ["IN_VIEW", "hidden", "in_view", "key_given"]


def in_view(what: str, instead: str) -> str:
    """What to say of a secret that was typed."""
    return (
        f"other users of this machine can read {what} on the command line in the process list, and the shell keeps it in its "
        f"history; {instead}"
    )


IN_VIEW = in_view("a key", "use --key-file FILE, --key - (standard input) or GATEWRIGHT_KEY")
_CHARS = 4096
_STDIN = "-"
_TAKEN = frozenset({"bridge"})
"""Commands whose standard input is for something else."""


def key_given(context: typer.Context, value: str | None) -> str | None:
    """What `--key` stands for, after `--key-file` was read. Raises `CliError`."""
    if context.resilient_parsing:
        return value
    source = context.get_parameter_source("key")
    typed = source is not None and source.name == "COMMANDLINE"
    file = context.meta.get(KEY_FILE)
    if file is not None:
        if typed:
            raise _misuse("--key and --key-file say two keys", "pass one of them")
        return _read(Path(file))
    if not typed or value is None:
        return value
    if value == _STDIN:
        if context.command.name in _TAKEN:
            raise _misuse(
                "standard input carries MCP here, and no key",
                "pass it in GATEWRIGHT_KEY or with --key-file FILE",
            )
        return _asked()
    note(IN_VIEW)
    return value


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(_CHARS + 1)
            # Of the open file, not of a name that may lead elsewhere by now.
            shared = os.fstat(opened.fileno()).st_mode & 0o077
    except OSError as problem:
        raise _misuse(
            f"{file} cannot be read: {problem.strerror}", "name a file that holds the key alone"
        ) from None
    if shared and file.is_file():
        note(f"{file} can be read by other users of this machine: chmod 600 {file}")
    return _checked(content, str(file))


def hidden(prompt: str) -> str:
    """What a person types, which is not shown. Ctrl-D is an end of the command, as Ctrl-C is."""
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise typer.Abort from None


def _asked() -> str:
    """One line of standard input; what stands behind it is left for whoever reads on."""
    if is_terminal(0):
        return _checked(hidden("API key: ").encode(), "what was typed")
    line = bytearray()
    # Byte by byte: a buffer would take more than the line.
    while len(line) <= _CHARS and (one := os.read(0, 1)) not in {b"", b"\n"}:
        line += one
    return _checked(bytes(line), "standard input")


def _checked(content: bytes, where: str) -> str:
    """The key of a text. What it says instead is never repeated."""
    key = content.decode("utf-8", "replace").strip()
    if not key or len(content) > _CHARS or not (key.isascii() and key.isprintable()) or " " in key:
        raise _misuse(
            f"{where} holds no key: a key is one word on one line",
            f"`{to_type('key create NAME')}` prints one",
        )
    return key


def _misuse(message: str, hint: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=hint)
