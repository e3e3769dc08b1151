"""Detects by a tool's name alone that it runs shell commands (MGP §8.2, fallback validators).

Theory: a plain MCP server says nothing about risk, but a tool called `run_shell_command` gives
itself away. The name is cut into words; when every word belongs to the small vocabulary of running
commands and one of them names the thing that is run, the tool is taken for a shell. Whole-name
matching, not substring search: `execute_sql`, `list_processes` and `seashell_catalogue` are none.
"""

from __future__ import annotations

from gatewright.identifier_words import words_of

__all__ = ["runs_commands"]

_THINGS = frozenset(
    "command commands cmd commandline shell bash sh zsh ksh csh dash fish powershell pwsh terminal "
    "console exec subprocess popen system process".split()
)
_VERBS = frozenset("execute exec run start spawn launch invoke call send submit".split())
_FILL = frozenset(
    "a an the in on to via with as local remote host os unix linux windows line tool mcp safe "
    "sandboxed background async sync new input".split()
)
_KNOWN = _THINGS | _VERBS | _FILL

_ALONE_NO_SHELL = frozenset({"system", "process", "console", "fish", "dash"})
"""Things too ordinary to mean a shell without a verb beside them."""


def runs_commands(name: str) -> bool:
    """Whether a tool of this name is to be treated as one that runs shell commands."""
    words = {word.lower() for word in words_of(name)}
    # One word from elsewhere, as in `execute_sql`, makes it another tool.
    if not words or not words <= _KNOWN:
        return False
    things = words & _THINGS
    return bool(things and words & _VERBS) or bool(things - _ALONE_NO_SHELL)
