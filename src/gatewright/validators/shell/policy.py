"""`rule_of`: judges one effect of a shell command by a preset of `sandbox`: `inspect` may read, `develop` work inside the workspace.

Each effect is judged by one function by its kind; what no function knows is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell.build_targets import is_git_setting, is_goal, leads_out, publishes
from gatewright.validators.shell.effects import Effect
from gatewright.validators.shell.line_state import Said
from gatewright.validators.shell.names import REPLACING, SERVING, TESTING
from gatewright.validators.shell.places import (  # fmt: skip
    HERE,
    Path,
    chooses_secrets,
    holds_secrets,
    is_kept,
    is_of_others,
    is_secret,
    place,
    resolve,
    stands_for_hidden,
)
from gatewright.validators.shell.values import (
    is_harmless_variable,
    is_metadata,
    is_module,
    is_package,
    is_project_setting,
    is_url,
    may_hold_metadata,
)
from gatewright.validators.shell_globs import letters_of
from gatewright.validators.shell_loops import is_own_name

__all__ = ["JUDGES", "Judge", "rule_of"]

Judge = Callable[[Effect, Said], str | None]


def rule_of(effect: Effect, said: Said, judges: Mapping[str, Judge] | None = None) -> str | None:
    """What speaks against an effect: a rule's name, or None."""
    judge = (judges or JUDGES).get(effect.kind)
    return "option" if judge is None else judge(effect, said)


def _reads(effect: Effect, said: Said) -> str | None:
    path = effect.path
    if path is None or (path.base in {"?", "#"} and effect.listed):
        return "unknown_arguments"
    if is_secret(path) or stands_for_hidden(path) or (path.wild and effect.listed and holds_secrets(_root(path))):  # fmt: skip
        return "host_file"
    return None if effect.text.isalnum() else _spelled(effect, said) or _from_elsewhere(effect, path, said)  # fmt: skip


def _spelled(effect: Effect, said: Said) -> str | None:
    """What speaks against a file by how it is spelled: it is one elsewhere, or a list of arguments."""
    text = effect.text
    if effect.of == "rsync" and ":" in text:
        return "sends_away"
    if not _SIGNS.isdisjoint(text) and _URL.fits(text):
        return "outside" if said.builds or said.project else _network(effect, said)
    if text.startswith("@") and _is_list(text, effect.of):
        return "unknown_arguments"
    behind = text.split(":")[1:] if effect.of.startswith(_PREFIXED) else ()
    return "host_file" if any(is_secret(resolve(HERE, one)) for one in behind) else None


def _is_list(text: str, program: str) -> bool:
    """Whether a program takes `@name` for a file of arguments."""
    revision = program.startswith("git ") and _UPSTREAM.fits(text)
    return not revision and program not in _PLAIN_NAMES


def _from_elsewhere(effect: Effect, path: Path, said: Said) -> str | None:
    """What speaks against a file by where it is: to what builds it is code, or settings."""
    if said.writes and is_of_others(path):
        return "outside"
    takes = said.project or (said.builds and effect.by.startswith("-"))
    if takes and place(path) != "inside" and not _SYSTEM.fits(path.text()):
        return "outside"
    if path.base == "/" and effect.of not in _COUNTED and _ENDLESS.fits(path.text()):
        return None if "endless" in said.granted else "endless"
    return None


_URL = Pattern(
    r"[A-Za-z][\w+.-]+://.*|(?:https?|ftps?|sftp|rtsp|rtmp|rtp|srt|gopher|tftp|concat|subfile|crypto|data|tcp|udp|tls|pipe|cache)[:,].*",
    DOTALL,
)
_SIGNS = frozenset(":,")
_UPSTREAM = Pattern(
    r"@(?:\{(?:u|upstream|push|-?\d{1,4})\})?(?:[~^]\d{0,4})*(?:\.{2,3}[\w@{}~^/-]*)?"
)
"""A revision that git tells from the branch."""
_COUNTED = frozenset({"head", "dd", "od", "xxd", "hexdump"})
_PREFIXED = ("git ", "docker ", "podman ", "kubectl ")
"""Programs that take a path behind a revision, or a machine."""
_PLAIN_NAMES = frozenset(
    "ls cat head tail wc find tree grep rg bat diff stat file du cp mv mkdir rm touch".split()
)
"""Programs that take `@name` for the name of a file, and no list of arguments."""
_SYSTEM = Pattern(r"/(?:usr|opt|lib|lib64|Library/Developer|Applications|nix|etc/ssl)/.*")
"""What belongs to the host, and nobody else may write."""
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
    if path is None or (path.base in {"?", "#"} and effect.listed):
        return "unknown_arguments"
    if is_secret(path):
        return "host_file"
    return "outside" if said.writes and is_of_others(path) else None


def _lists_below(effect: Effect, said: Said) -> str | None:
    """All names below: of a home or the root they say where secrets are."""
    path = effect.path
    held = path is not None and path.base in {"~", "/"} and holds_secrets(path)
    return _lists(effect, said) or ("host_file" if held else None)


def _names(effect: Effect, said: Said) -> str | None:
    # What is read is chosen by this pattern; where names are but listed it says nothing of what they hold.
    if effect.by != "-name" and chooses_secrets(effect.text):
        return "host_file"
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
    if effect.text.startswith("|"):
        return "program_option"
    if effect.of == "rsync" and ":" in effect.text:
        return "sends_away"
    if path is None or path.base in {"?", "#"}:
        return "unknown_arguments"
    where = place(path, written=True)
    if where == "sensitive":
        return "host_file"
    if where not in {"inside", "temporary"}:
        return "outside"
    # What overwrites all that is listed leaves nothing of it.
    if effect.listed == "all" and effect.of in REPLACING:
        return "recursive_delete"
    return "outside" if is_kept(path) else None


def _deletes(effect: Effect, said: Said) -> str | None:
    rule = _writes(effect, said)
    if rule is not None:
        return rule
    path = effect.path
    if path is None or (effect.listed and path.base != "" and path.parts[:1] != ("tmp",)):
        return "outside"
    return "recursive_delete" if _empties(path, effect) else None


def _empties(path: Path, effect: Effect) -> bool:
    """Whether all of the workspace, or of what lies below `/tmp`, goes."""
    if effect.listed == "some":
        return False
    own = path.parts if path.base == "" else path.parts[2:]
    if path.base != "" and len(path.parts) > 1 and path.parts[1].strip("*?[]."):
        return False
    named = any(letters_of(one).strip(".") for one in own)
    return not named and (path.wild or not own)


def _run(effect: Effect, said: Said) -> str | None:
    path = effect.path
    if not said.writes:
        return "program_name"
    if ":" in effect.text or (effect.of.startswith("go ") and "@" in effect.text):
        return "outside"
    if path is None or (path.wild and effect.by == "") or place(path) != "inside":
        return "program_name" if path is None or effect.by == "" else "outside"
    if said.tainted or said.has_made(path.parts) or (path.wild and said.made):
        return "program_name"
    if (path.wild or path.parts in said.typed) and said.typed and effect.of not in TESTING:
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
    if effect.path is None or effect.text == "-" or _URL.fits(effect.text):
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


def _environment(effect: Effect, said: Said) -> str | None:
    """Variables of this shell; what services get of them is part of working on them."""
    if said.writes and effect.of.startswith(SERVING):
        return None
    return None if "environment" in said.granted else "environment"


def _sends(effect: Effect, said: Said) -> str | None:
    return None if said.writes and said.local else "sends_away"


def _package(effect: Effect, said: Said) -> str | None:
    return None if not effect.text or is_package(effect.text, of=effect.of) else "outside"


def _module(effect: Effect, said: Said) -> str | None:
    if not said.writes:
        return _refused(effect)
    fetched = effect.of in {"go run", "go install"} and "@" in effect.text
    return None if is_module(effect.text) and not fetched else "outside"


def _value(effect: Effect, said: Said) -> str | None:
    """The text of an option, or an operand, that may be a path of code or settings to what builds."""
    if (said.project or said.builds) and leads_out(effect.text, effect.path):
        return "outside"
    return None


def _target(effect: Effect, said: Said) -> str | None:
    if said.writes and publishes(effect.text, effect.of):
        return "sends_away"
    return _value(effect, said) if is_goal(effect.text) else "operand"


def _variable(effect: Effect, said: Said) -> str | None:
    own = effect.by == "alone" and is_own_name(effect.text.partition("=")[0])
    return None if own or is_harmless_variable(effect.text, writes=said.writes) else "assignment"


def _setting(effect: Effect, said: Said) -> str | None:
    if not said.writes:
        return _refused(effect)
    return None if is_project_setting(effect.text) else "outside"


def _settings(effect: Effect, said: Said) -> str | None:
    if effect.of in {"git", "git config"} and effect.by in {"-c", "operand"}:
        if effect.of == "git config" and not said.writes:
            return "subcommand"
        return None if is_git_setting(effect.text) else "option"
    return "option" if effect.by.startswith("-") else "subcommand"


def _argument(effect: Effect, said: Said) -> str | None:
    """A word for a program of the project, or one that the operator names."""
    pieces = (resolve(HERE, text, glob=effect.path is not None) for text in _pieces(effect.text))
    if any(map(is_secret, pieces)):
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


def _text(effect: Effect, said: Said) -> str | None:
    # A revision before a path.
    if ":" in effect.text and effect.of.startswith("git "):
        return _argument(effect, said)
    # A module of another's at a version is fetched, and run or put among the programs.
    if "@" in effect.text and effect.of.startswith("go "):
        return "outside"
    return _value(effect, said)


JUDGES: Mapping[str, Judge] = {
    "reads": _reads,
    "reads_below": _reads_below,
    "lists": _lists,
    "lists_below": _lists_below,
    "names": _names,
    "writes": _writes,
    **dict.fromkeys(("deletes", "deletes_below"), _deletes),
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
    "environment": _environment,
    "endless": _granted("endless"),
    "sends": _sends,
    "secrets": _never("shows_secrets"),
    "settings": _settings,
    "publishes": _never("sends_away"),
    "acts": lambda effect, said: None if said.writes else _refused(effect),
    "package": _package,
    "module": _module,
    "target": _target,
    "variable": _variable,
    "setting": _setting,
    "argument": _argument,
    "unseen": _never("unknown_arguments"),
    "starts": lambda effect, said: None,
    "text": _text,
    "value": _value,
}
"""Kind of an effect → what is said of it."""
