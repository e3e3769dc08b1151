"""What a preset of `sandbox` says of each effect of a command: `inspect` reads, `develop` works inside the workspace.

Each effect is judged by one function by its kind; what no function knows is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gatewright.patterns import Pattern
from gatewright.validators.shell.effects import Effect
from gatewright.validators.shell.places import Path, holds_secrets, is_kept, is_secret, place
from gatewright.validators.shell.values import (
    is_harmless_variable,
    is_local,
    is_metadata,
    is_module,
    is_package,
    is_project_setting,
    is_url,
    may_hold_metadata,
)

__all__ = ["Said", "rule_of"]


class Said(NamedTuple):
    """What the policy knows of a line."""

    granted: frozenset[str]
    """Capabilities."""
    writes: bool
    """Whether the preset works inside the workspace."""
    made: frozenset[tuple[str, ...]] = frozenset()
    """Paths of files that the line itself has made, by their parts."""
    tainted: bool = False
    """Whether the line has fetched or made what may be taken for code."""
    local: bool = False
    """Whether all hosts of the command are this machine."""


Judge = Callable[[Effect, Said], str | None]


def rule_of(effect: Effect, said: Said) -> str | None:
    """What speaks against an effect: a rule's name, or None."""
    judge = _JUDGES.get(effect.kind)
    return "option" if judge is None else judge(effect, said)


def _reads(effect: Effect, said: Said) -> str | None:
    path = effect.path
    if path is None or (path.base == "?" and effect.listed):
        return "unknown_arguments"
    if is_secret(path):
        return "host_file"
    if path.wild and effect.listed and holds_secrets(_root(path)):
        return "host_file"
    if _ENDLESS.fits(path.text()) and not said.granted & {"endless"}:
        return "endless"
    return None


_ENDLESS = Pattern(r"/dev/(?:zero|full|u?random|tty\w*|console|pts/.*|ptmx|input/.*|fd/0)")


def _root(path: Path) -> Path:
    """The folder whose names stand in a path."""
    at = next((at for at, one in enumerate(path.parts) if "*" in one), len(path.parts))
    return path._replace(parts=path.parts[:at], wild=False)


def _reads_below(effect: Effect, said: Said) -> str | None:
    rule = _reads(effect, said)
    return rule or ("host_file" if effect.path is not None and holds_secrets(effect.path) else None)


def _lists(effect: Effect, said: Said) -> str | None:
    path = effect.path
    if path is None or (path.base == "?" and effect.listed):
        return "unknown_arguments"
    return "host_file" if is_secret(path) else None


def _names(effect: Effect, said: Said) -> str | None:
    return "host_file" if effect.path is not None and is_secret(effect.path) else None


def _refused(effect: Effect) -> str:
    """What `inspect` calls what it does not allow, by where it comes from."""
    if effect.by in {"", "operand"}:
        return "subcommand" if " " in effect.of else "unknown_program"
    if effect.by == "redirect":
        return "file_redirect"
    if effect.by.startswith(("-", "+")):
        return "option"
    return "operand"


def _writes(effect: Effect, said: Said) -> str | None:
    path = effect.path
    if not said.writes:
        return _refused(effect)
    if path is None or path.base == "?":
        return "unknown_arguments"
    where = place(path, written=True)
    if where == "sensitive":
        return "host_file"
    if where not in {"inside", "temporary"}:
        return "outside"
    return "outside" if is_kept(path) else None


def _deletes(effect: Effect, said: Said) -> str | None:
    rule = _writes(effect, said)
    if rule is not None:
        return rule
    path = effect.path
    if path is None or (effect.listed and path.base != "" and path.parts[:1] != ("tmp",)):
        return "outside"
    return "recursive_delete" if _empties(path, effect) else None


_ALL = Pattern(r"[*?.\[\]!^a-z-]*[*?\]][*?.]*")
_LETTERS = Pattern(r"\[[^\]]*\]|[*?.]")


def _empties(path: Path, effect: Effect) -> bool:
    """Whether all of the workspace, or of what lies below `/tmp`, goes."""
    if effect.listed == "some":
        return False
    own = path.parts if path.base == "" else path.parts[2:]
    if path.base != "" and len(path.parts) > 1 and path.parts[1].strip("*?[]."):
        return False
    named = [one for one in own if _LETTERS.sub("", one) != ""]
    return not named and (path.wild or not own)


def _run(effect: Effect, said: Said) -> str | None:
    path = effect.path
    if not said.writes:
        return "program_name"
    if path is None or path.wild or place(path) != "inside":
        return "program_name" if path is None or effect.by == "" else "outside"
    if path.parts in said.made or said.tainted:
        return "program_name"
    return "outside" if is_kept(path) and path.parts[:1] != (".venv",) else None


def _runs(effect: Effect, said: Said) -> str | None:
    if not said.writes:
        return _refused(effect)
    if not effect.text or not _CODE_FILE.fits(effect.text) or ".." in effect.text or said.tainted:
        return "inline_code" if effect.by in {"-c", "-e", "-E", "-p", "--eval", "--print"} else "program_option"  # fmt: skip
    return None


_CODE_FILE = Pattern(r"(?:\./)?[\w@][\w.@-]*(?:/[\w.@-]+)*(?:/|\.\w+|/[\w.@-]+)")
"""A file inside, by a name that is no word of a language."""


def _code(effect: Effect, said: Said) -> str | None:
    return "inline_code" if said.writes else _refused(effect)


def _project(effect: Effect, said: Said) -> str | None:
    if not said.writes:
        return _refused(effect)
    if said.tainted:
        return "program_name"
    return "outside" if effect.path is not None and place(effect.path) != "inside" else None


def _here(effect: Effect, said: Said) -> str | None:
    if not said.writes:
        return _refused(effect)
    path = effect.path
    if path is not None and place(path) not in {"inside", "temporary"}:
        return "outside"
    return "outside" if path is not None and is_kept(path) else None


def _enters(effect: Effect, said: Said) -> str | None:
    if effect.path is None:
        return "outside"
    where = place(effect.path)
    if where == "sensitive":
        return "host_file"
    return None if where == "inside" or (where == "temporary" and said.writes) else "outside"


def _repository(effect: Effect, said: Said) -> str | None:
    """A repository has settings of its own, some of which name programs."""
    return None if effect.path is not None and place(effect.path) == "inside" else "outside"


def _network(effect: Effect, said: Said) -> str | None:
    return None if "network" in said.granted else "network"


def _host(effect: Effect, said: Said) -> str | None:
    if is_metadata(effect.text) or may_hold_metadata(effect.text):
        return "metadata"
    if not is_url(effect.text):
        return "operand"
    return _network(effect, said)


def _granted(name: str) -> Judge:
    return lambda effect, said: None if name in said.granted else name


def _sends(effect: Effect, said: Said) -> str | None:
    return None if said.writes and said.local else "sends_away"


def _package(effect: Effect, said: Said) -> str | None:
    if not said.writes:
        return _refused(effect)
    if not effect.text:
        return None
    return None if is_package(effect.text) else "outside"


def _module(effect: Effect, said: Said) -> str | None:
    if not said.writes:
        return _refused(effect)
    return None if is_module(effect.text) else "outside"


def _target(effect: Effect, said: Said) -> str | None:
    return None if _TARGET.fits(effect.text) and ".." not in effect.text else "operand"


_TARGET = Pattern(r"[\w@%+./:,-]*")


def _variable(effect: Effect, said: Said) -> str | None:
    return None if is_harmless_variable(effect.text, writes=said.writes) else "assignment"


def _setting(effect: Effect, said: Said) -> str | None:
    if not said.writes:
        return _refused(effect)
    return None if is_project_setting(effect.text) else "outside"


def _settings(effect: Effect, said: Said) -> str | None:
    return "option" if effect.by.startswith("-") else "subcommand"


def _argument(effect: Effect, said: Said) -> str | None:
    """A word for a program of the project, or one that the operator names."""
    from gatewright.validators.shell.places import HERE, resolve

    for text in _pieces(effect.text):
        if is_secret(resolve(HERE, text)):
            return "host_file"
    return "metadata" if may_hold_metadata(effect.text) else None


def _pieces(text: str) -> list[str]:
    found = [text]
    for sign in "=@:":
        if sign in text:
            found += text.split(sign)
    if text[:1] == "-" and len(text) > 2:
        found.append(text[2:])
    return found


def _never(rule: str) -> Judge:
    return lambda effect, said: rule


def _passes(effect: Effect, said: Said) -> str | None:
    return None


def _text(effect: Effect, said: Said) -> str | None:
    # A revision before a path.
    if ":" in effect.text and effect.of.startswith("git "):
        return _argument(effect, said)
    return None


_JUDGES: Mapping[str, Judge] = {
    "reads": _reads,
    "reads_below": _reads_below,
    "lists": _lists,
    "names": _names,
    "writes": _writes,
    "deletes": _deletes,
    "run": _run,
    "runs": _runs,
    "code": _code,
    "project": _project,
    "writes_here": _here,
    "unpacks": _here,
    "fetches": _here,
    "enters": _enters,
    "repository": _repository,
    "network": _network,
    "host": _host,
    "environment": _granted("environment"),
    "endless": _granted("endless"),
    "sends": _sends,
    "secrets": _never("shows_secrets"),
    "settings": _settings,
    "publishes": _never("sends_away"),
    "package": _package,
    "module": _module,
    "target": _target,
    "variable": _variable,
    "setting": _setting,
    "argument": _argument,
    "unseen": _never("unknown_arguments"),
    "text": _text,
}
"""Kind of an effect → what is said of it."""
