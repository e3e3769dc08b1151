"""Reads commands that run or end others into effects: find, fd, xargs, env, make, kill, docker run, `python -m`; also cd and test."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell.call import Call, read_options
from gatewright.validators.shell.effects import DASHED, MARK, NUMBERS, Listed, marked, paths_of
from gatewright.validators.shell.find_expression import chooses
from gatewright.validators.shell.places import HERE, Path, resolve
from gatewright.validators.shell.words import Option, Refused, given
from gatewright.validators.shell_syntax import Word

__all__ = [
    "cd",
    "command",
    "docker_inspect",
    "docker_run",
    "env",
    "fd",
    "find",
    "kill",
    "make",
    "python_module",
    "test",
    "xargs",
]


_SIGNS = frozenset({"(", ")", "!", ","})


_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


_MOST = 64
"""Words that are judged for each folder."""
_ENDS = frozenset({";", "+"})
_FIRST = frozenset({"-H", "-L", "-P", "-O", "-D", "-E", "-X"})


_NEWER = Pattern(r"-newer[aBcm][aBcmt]")


def find(call: Call) -> bool:
    """Where it begins, what it asks, what it runs for each file."""
    words = call.words
    start = next((at for at, one in enumerate(words) if not _begins(one.text)), len(words))
    roots = [one for one in words[:start] if one.text[:1] != "-"] or [Word(".")]
    for one in words[:start]:
        if one.text[:1] == "-" and one.text[1:] not in call.entry.words:
            raise Refused("option", f"find {one.text}")
        call.seen(one)
    commands = _asked(call, start)
    if len(roots) * (len(call.named) + sum(map(len, commands))) > _MOST:
        raise Refused("too_long", "find")
    for one in roots:
        call.add_paths("lists", one, "operand")
        for path in paths_of(one, call.at):
            _names_below(call, path, runs=bool(commands))
    if commands or "deletes" in call.does:
        _on_each(call, start, roots, commands)
    return True


def _on_each(call: Call, start: int, roots: list[Word], commands: list[list[Word]]) -> None:
    """What is done to each file that is found."""
    chosen = chooses([one.text for one in call.words[start:]])
    listed = tuple(Listed(path, chosen) for one in roots for path in paths_of(one, call.at))
    inner = call.at._replace(listed={**call.at.listed, MARK: listed}, fed="")
    if "deletes" in call.does:
        call.at = inner
        call.add_paths("deletes", Word(MARK), "-delete")
    for command in commands:
        call.command([one._replace(text=one.text.replace("{}", MARK)) for one in command], inner)


def _begins(text: str) -> bool:
    """Whether a word stands before the tests: a folder, or one of the few options there."""
    return text not in _SIGNS and (text[:1] != "-" or text[:2] in _FIRST)


def _asked(call: Call, at: int) -> list[list[Word]]:
    """The commands that a `find` runs; its tests are read on the way."""
    words = call.words
    commands = []
    while at < len(words):
        text = words[at].text
        at += 1
        if text in _RUNS:
            end = next((one for one in range(at, len(words)) if words[one].text in _ENDS), None)
            if end is None or end == at:
                raise Refused("option", f"find {text}")
            command = list(words[at:end])
            # Behind `+` there may be several.
            more = [one for one in command if one.text == "{}"] if words[end].text == "+" else []
            commands.append([*command, *more])
            at = end + 1
        elif text not in _SIGNS:
            at = _tested(call, words, at)
    return commands


def _names_below(call: Call, root: Path, *, runs: bool) -> None:
    for named in call.named:
        if runs:
            call.add("names", None, named, "-exec")
        for text in (named, f"*/{named}"):
            call.add("names", resolve(root, text.lstrip("/"), glob=True), named, "-name")


def _tested(call: Call, words: Sequence[Word], at: int) -> int:
    """One test and its value; where the next one stands."""
    text = words[at - 1].text
    opt = call.entry.words.get(text[1:]) if text[:1] == "-" else None
    if opt is None and not _NEWER.fits(text):
        raise Refused("option" if text[:1] == "-" else "operand", f"find {text}")
    if opt is not None:
        call.does |= opt.does - {"recursive"}
        if not opt.takes:
            return at
    if at == len(words):
        raise Refused("option", f"find {text}")
    if opt is not None and opt.kind == "reads":
        call.named.append(words[at].text)
    elif opt is not None and opt.kind == "writes":
        call.add_paths("writes", words[at], text)
    return at + 1


_OF_ARGUMENTS = frozenset({"-n", "--max-args"})
_OF_LINES = _OF_ARGUMENTS | {"-L", "-l", "--max-lines"}


def _placed(call: Call, options: Sequence[Option]) -> str:
    """In place of what names stand in the command; empty where they stand behind it."""
    placed = ""
    for name, _, value in options:
        if name in {"-I", "-J", "--replace", "-i"}:
            placed = "{}" if value is None else value.text
            call.hold(Word(placed))
        elif placed and name in _OF_LINES and not (name in _OF_ARGUMENTS and value and value.text == "1"):  # fmt: skip
            # It takes the place of the option before it: names stand behind the command then.
            raise Refused("option", f"xargs {name}")
        elif name in {"-a", "--arg-file"}:
            raise Refused("unknown_arguments", f"xargs {name}")
    return placed


def xargs(call: Call) -> bool:
    """What it runs, with the names that it gets."""
    found, read = given(call.entry, call.words, most=1)
    placed = _placed(call, found.options)
    if not found.operands:
        return True
    command = list(call.words[read - 1 :])
    if placed:
        command = [one._replace(text=one.text.replace(placed, MARK)) for one in command]
    else:
        command += [Word(MARK), Word(MARK)]
    listed = call.at.listed.get(MARK)
    if len(listed or ()) * len(command) > _MOST:
        raise Refused("too_long", "xargs")
    if listed and any(one.dashed for one in listed) and not any(one.text == "--" for one in command):  # fmt: skip
        call.at = call.at._replace(listed={**call.at.listed, DASHED: ()})
    call.command(command, call.at._replace(fed=""))
    return True


_SET = Pattern(r"[A-Za-z_]\w*=.*", DOTALL)


def env(call: Call) -> bool:
    """The environment, or a command with variables."""
    words = list(call.words)
    while words and words[0].text != "--":
        text = words[0].text
        if _SET.fits(text):
            if words[0].bare:
                call.seen(words[0])
            call.add("variable", None, text, "operand")
        elif text[:1] == "-" and text != "-":
            found, read = given(call.entry, words, most=1)
            read_options(call, found.options)
            words = words[read - 1 if found.operands else read :]
            continue
        elif text != "-":
            break
        del words[0]
    if words and words[0].text == "--":
        del words[0]
    if words:
        call.command(words)
    else:
        call.add("environment", call.at.folder, "", "")
    return True


def cd(call: Call) -> bool:
    """Where it leads is the line's business."""
    given(call.entry, call.words)
    return True


_COMPARING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_INTEGER = Pattern(r"[+-]?\d{1,18}")


def test(call: Call) -> bool:
    """Questions that evaluate nothing: shells take the sides of a comparison by number, and the names behind `-v` and `-R`, for
    expressions, whose subscripts run commands."""
    texts = [word.text for word in call.words]
    if any(text in {"-v", "-R"} for text in texts):
        raise Refused("option", "test")
    compared = (
        side
        for at, text in enumerate(texts)
        if text in _COMPARING
        for side in (texts[max(at - 1, 0)], texts[min(at + 1, len(texts) - 1)])
    )
    evaluated = not all(_INTEGER.fits(one) or _is_counted(call, one) for one in compared)
    # Side by side they could be a question and what it asks of.
    beside = any(map(marked, texts)) and any(marked(one) and marked(other) for one, other in pairwise(texts))  # fmt: skip
    if evaluated or beside or any("[" in one or "$" in one for one in texts):
        raise Refused("operand", "test")
    return True


def _is_counted(call: Call, text: str) -> bool:
    """Whether a text is a mark for one number that was counted. Many, as of processes, are several words."""
    return _stands(call, text, chosen=False)


def _stands(call: Call, text: str, *, chosen: bool) -> bool:
    listed = call.at.listed.get(text) if marked(text) == text else None
    return bool(listed) and all(one.root == NUMBERS and one.chosen is chosen for one in listed or ())  # fmt: skip


def command(call: Call) -> bool:
    """Where a program is, never running it."""
    if not call.words or call.words[0].text not in {"-v", "-V"}:
        raise Refused("runs_programs", "command")
    return True


_PROCESS = Pattern(r"%?[1-9]\d*|%[+%-]?\w*")


def kill(call: Call) -> bool:
    """Ends a process by its number; `-1` and `0` would be all."""
    words = [one.text for one in call.words]
    if words and words[0] in {"-l", "-L", "--list"}:
        return True
    while words and words[0].startswith("-") and words[0] != "--":
        option = words.pop(0)
        if option in {"-s", "-n", "--signal"} and words:
            del words[0]
        elif not _SIGNAL.fits(option):
            raise Refused("option", f"kill {option}")
    words = [one for one in words if one != "--" and not _stands(call, one, chosen=True)]
    if not words and any(marked(one.text) for one in call.words):
        call.add("project", HERE, "", "")
        return True
    if not words or not all(map(_PROCESS.fits, words)) or "1" in words:
        raise Refused("operand", "kill")
    call.add("project", HERE, "", "")
    return True


_SIGNAL = Pattern(r"-(?:SIG)?[A-Z]{3,6}[12]?|-\d{1,2}|--signal=\w+")


_ASSIGNED = Pattern(r"[A-Za-z_][\w.-]*[:+?]?=.*", DOTALL)


def make(call: Call) -> list[Word]:
    """Targets by plain names, and variables of the project's own."""
    left = []
    for one in call.given.operands:
        if _ASSIGNED.fits(one.text):
            call.add("setting", None, one.text, "operand")
        else:
            left.append(one)
    return left


_REGISTRIES = Pattern(
    r"(?:[\w-]+\.)*(?:docker\.io|ghcr\.io|quay\.io|gcr\.io|k8s\.io|mcr\.microsoft\.com|public\.ecr\.aws|registry\.gitlab\.com|nvcr\.io|"
    r"registry\.redhat\.io|registry\.access\.redhat\.com|docker\.elastic\.co|cgr\.dev|[\w-]+-docker\.pkg\.dev|azurecr\.io|"
    r"dkr\.ecr\.[\w-]+\.amazonaws\.com)|(?:localhost|127\.0\.0\.1)(?::\d+)?"
)


def docker_run(call: Call) -> list[Word]:
    """Volumes by their names or from inside; no namespaces of the host; images of registries that many use."""
    image = call.given.operands[0].text if call.given.operands else ""
    host, slash, _ = image.partition("/")
    if slash and ("." in host or ":" in host) and not _REGISTRIES.fits(host):
        raise Refused("outside", f"{call.name} {image}")
    for name, _, value in call.given.options:
        if value is None:
            continue
        text = value.text
        if name in {"--network", "--net"} and (text == "host" or text.startswith("container:")):
            raise Refused("option", f"{call.name} {name}")
        if name == "--mount":
            fields = dict(one.partition("=")[::2] for one in text.split(","))
            source = fields.get("source", fields.get("src", "."))
            call.add_paths("writes" if "/" in source or "." in source else "text", value._replace(text=source), name)  # fmt: skip
    return call.given.operands


_SHOWN = Pattern(
    r"(?:[\w./:-]* ?\{\{ ?(?:json )?\.(?:State|Name|Id|Image|Created|RestartCount|Platform|Driver|NetworkSettings|Mounts|"
    r"HostConfig\.(?:NetworkMode|RestartPolicy|PortBindings|Memory|Binds)|Config\.(?:Image|Hostname|WorkingDir|User|ExposedPorts|Labels))[\w. ]*\}\} ?)+"
)
"""Members of a container that are none of its variables."""


def docker_inspect(call: Call) -> list[Word]:
    """What it shows: the variables of a container, but for single members, and for what has none."""
    values = {one.name: one.value.text for one in call.given.options if one.value is not None}
    chosen = values.get("-f") or values.get("--format") or ""
    if _SHOWN.fits(chosen) or values.get("--type") in {"image", "network", "volume", "node"}:  # fmt: skip
        call.does.discard("environment")
    return call.given.operands


_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})


def fd(call: Call) -> list[Word]:
    """The words before what it runs for each file that it finds."""
    at = next((at for at, one in enumerate(call.words) if one.text in _FD_RUNS), None)
    if at is None:
        return list(call.words)
    command = [one for one in call.words[at + 1 :] if one.text != ";"]
    before = list(call.words[:at])
    roots = [one for one in before if one.text[:1] != "-"][1:] or [Word(".")]
    chosen = any(one.text in {"-e", "--extension"} for one in before) or (
        before[:1] != [] and before[0].text[:1] != "-" and any(map(str.isalnum, before[0].text))
    )
    listed = tuple(Listed(path, chosen) for one in roots for path in paths_of(one, call.at))
    given_words = [one._replace(text=one.text.replace("{}", MARK)) for one in command]
    if not any("{}" in one.text for one in command):
        given_words.append(Word(MARK))
    call.command(given_words, call.at._replace(listed={**call.at.listed, MARK: listed}, fed=""))
    return before


_DOTTED = Pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def python_module(call: Call) -> bool:
    """A module below a package that is none of Python's own is one of the workspace."""
    name = call.words[0].text if call.words else ""
    if not _DOTTED.fits(name) or name.partition(".")[0] in sys.stdlib_module_names:
        return False
    call.add("project")
    file = name.replace(".", "/") + ".py"
    call.add("run", resolve(call.at.folder, file), file, "operand")
    for one in call.words[1:]:
        call.add("argument", None, one.text, "operand")
    return True
