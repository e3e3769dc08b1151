"""Readers of shell programs whose words are no mere options and operands: find, xargs, env, sed, awk, tar, test, make, and the like.

`SPECIALS` read all words of a command; `CHECKS` look at options and operands that were read by the table, and say which operands are left
for it to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell.call import Call
from gatewright.validators.shell.effects import MARK, At, Listed, marked
from gatewright.validators.shell.found import chooses
from gatewright.validators.shell.places import HERE, resolve
from gatewright.validators.shell.scripts import awk_needs, jq_rule, sed_needs, yq_rule
from gatewright.validators.shell.words import Given, Refused, given
from gatewright.validators.shell_scripts import awk_rule, sed_rule
from gatewright.validators.shell_special import ip as ip_rule
from gatewright.validators.shell_special import tested
from gatewright.validators.shell_syntax import Word

__all__ = ["CHECKS", "SPECIALS"]

Special = Callable[[Call], bool]
Check = Callable[[Call], list[Word]]

_SIGNS = frozenset({"(", ")", "!", ","})
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ENDS = frozenset({";", "+"})
_NEWER = Pattern(r"-newer[aBcm][aBcmt]")


def _find(call: Call) -> bool:
    """Where it begins, what it asks, what it runs for each file."""
    words, known = call.words, call.entry.words
    at, roots, tests = 0, list[Word](), list[str]()
    commands: list[Sequence[Word]] = []
    deletes = False
    while at < len(words):
        text = words[at].text
        at += 1
        tests.append(text)
        if text in _SIGNS:
            continue
        if text[:1] != "-" or text == "-":
            if len(tests) > len(roots) + 1 and not all(_before_roots(one) for one in tests[: -1 - len(roots)]):  # fmt: skip
                raise Refused("operand", f"find {text}")
            roots.append(words[at - 1])
        elif text in _RUNS:
            end = next((one for one in range(at, len(words)) if words[one].text in _ENDS), None)
            if end is None or end == at:
                raise Refused("option", f"find {text}")
            commands.append(words[at:end])
            at = end + 1
        else:
            at = _tested(call, known, words, at)
            deletes = deletes or text == "-delete"
            tests += [one.text for one in words[at - 1 : at] if one.text != text]
    begun = roots or [Word(".")]
    for one in begun:
        call.add_paths("lists", one, "operand")
    chosen = chooses(tests)
    listed = tuple(
        Listed(path, chosen) for one in begun for path in _roots(one, call.at)
    )
    inner = call.at._replace(listed={**call.at.listed, MARK: listed}, fed="")
    if deletes:
        call.at = inner
        call.add_paths("deletes", Word(MARK), "-delete")
    for command in commands:
        given_words = [one._replace(text=one.text.replace("{}", MARK)) for one in command]
        call.command(given_words, inner)
    return True


def _roots(word: Word, at: At) -> Sequence:
    return [resolve(at.folder, word.text, glob=word.glob)] if not marked(word.text) else []


def _before_roots(text: str) -> bool:
    return text[:2] in {"-H", "-L", "-P", "-O", "-D", "-E", "-X", "-d", "-s", "-x"}


def _tested(call: Call, known: Mapping, words: Sequence[Word], at: int) -> int:
    """One test and its value."""
    text = words[at - 1].text
    opt = known.get(text[1:])
    if opt is None:
        if _NEWER.fits(text) and at < len(words):
            return at + 1
        raise Refused("option", f"find {text}")
    if opt.does:
        call.does |= opt.does
    if not opt.takes:
        return at
    if at == len(words):
        raise Refused("option", f"find {text}")
    if opt.kind == "reads":
        value = words[at]
        call.add("names", resolve(HERE, value.text, glob=True), value.text, text)
    elif opt.kind == "writes":
        call.add_paths("writes", words[at], text)
    return at + 1


def _xargs(call: Call) -> bool:
    """What it runs, with the names that it gets."""
    found, read = given(call.entry, call.words, most=1)
    placed = ""
    for name, _, value in found.options:
        if name in {"-I", "-J", "--replace", "-i"}:
            placed = "{}" if value is None else value.text
        elif name in {"-a", "--arg-file"}:
            raise Refused("unknown_arguments", f"xargs {name}")
    if not found.operands:
        return True
    command = list(call.words[read - 1 :])
    if placed:
        command = [one._replace(text=one.text.replace(placed, MARK)) for one in command]
    else:
        command.append(Word(MARK))
    call.command(command, call.at._replace(fed=""))
    return True


_SET = Pattern(r"[A-Za-z_]\w*=.*", DOTALL)


def _env(call: Call) -> bool:
    """The environment, or a command with variables."""
    words = list(call.words)
    variables = False
    while words and words[0].text != "--":
        text = words[0].text
        if _SET.fits(text):
            call.add("variable", None, text, "operand")
            variables = True
            del words[0]
        elif text == "-":
            del words[0]
        elif text[:1] == "-":
            found, read = given(call.entry, words, most=1)
            for option in found.options:
                if option.opt.kind == "folders" and option.value is not None:
                    path = resolve(call.at.folder, option.value.text)
                    call.add("enters", path, option.value.text, option.name)
                    call.at = call.at._replace(folder=path)
                elif option.opt.kind != "text":
                    call.add("runs", None, option.value.text if option.value else "", option.name)
            words = words[read - 1 if found.operands else read :]
        else:
            break
    if words and words[0].text == "--":
        del words[0]
    if words:
        call.command(words)
    else:
        call.add("environment", call.at.folder, "", "")
    del variables
    return True


def _cd(call: Call) -> bool:
    """Where it leads is the line's business."""
    given(call.entry, call.words)
    return True


def _test(call: Call) -> bool:
    rule = tested(call.words)
    if rule is not None:
        raise Refused(rule, "test")
    return True


def _ip(call: Call) -> bool:
    rule = ip_rule(call.words)
    if rule is not None:
        raise Refused(rule, "ip")
    return True


def _command(call: Call) -> bool:
    if not call.words or call.words[0].text not in {"-v", "-V"}:
        raise Refused("runs_programs", "command")
    return True


_MODES = frozenset("-x -t -c -r -u -A -d --extract --get --list --create --append --update --catenate --concatenate --diff --compare --delete".split())  # fmt: skip
_READING = frozenset({"-t", "--list", "-d", "--diff", "--compare"})
_UNPACKING = frozenset({"-x", "--extract", "--get"})


def _tar(call: Call) -> bool:
    """What it lists, packs and unpacks."""
    words = _dashed(call)
    found, _ = given(call.entry, words)
    modes = {one.name for one in found.options} & _MODES
    if len(modes) != 1:
        raise Refused("option", "tar")
    mode = modes.pop()
    shown = any(one.name in {"-O", "--to-stdout"} for one in found.options)
    for name, opt, value in found.options:
        if name in {"-C", "--directory", "--cd"} and value is not None:
            path = resolve(call.at.folder, value.text, glob=value.glob)
            call.at = call.at._replace(folder=path)
            call.add("reads_below" if mode in {"-c", "--create"} else "enters", path, value.text, name)  # fmt: skip
    for name, opt, value in found.options:
        if name in {"-f", "--file"} and value is not None:
            if ":" in value.text:
                raise Refused("operand", f"tar {value.text}")
            call.add_paths("reads" if mode in _READING | _UNPACKING else "writes", value, name)
        elif value is not None and opt.kind in {"reads", "writes", "lists"}:
            call.add_paths(opt.kind, value, name)
        elif opt.kind == "runs" or "runs" in opt.does:
            call.add("runs", None, value.text if value is not None else "", name)
        if "deletes" in opt.does:
            call.add("runs", None, "", name)
    if mode in _UNPACKING and not shown:
        call.add("writes_here", call.at.folder, "", mode)
        call.add("unpacks", call.at.folder, "", mode)
    elif mode not in _READING and mode not in _UNPACKING:
        for one in found.operands:
            call.add_paths("reads_below", one, "operand")
    return True


def _dashed(call: Call) -> list[Word]:
    """The words of `tar`, whose first may be letters without a dash: their values follow, one after the other."""
    words = list(call.words)
    if not words or words[0].text[:1] == "-" or not words[0].text.isalnum():
        return words
    letters, rest = words[0].text, words[1:]
    options = []
    for letter in letters:
        opt = call.entry.letters.get(letter)
        options.append(Word(f"-{letter}"))
        if opt is not None and opt.takes == 1:
            if not rest:
                raise Refused("option", f"tar {letter}")
            options.append(rest.pop(0))
    return [*options, *rest]


def _sed(call: Call) -> list[Word]:
    """Its scripts only transform."""
    operands = list(call.given.operands)
    scripts = [one.value.text for one in call.given.options if one.name in {"-e", "--expression"} and one.value]  # fmt: skip
    filed = call.has("-f", "--file")
    if not scripts and not filed:
        scripts = [operands.pop(0).text] if operands else []
    for script in scripts:
        rule = sed_rule(script)
        if rule is not None:
            raise Refused(rule, "sed")
        if sed_needs(script):
            call.add("endless", None, "", "script")
    return operands


def _awk(call: Call) -> list[Word]:
    """Its programs only compute and print."""
    operands = list(call.given.operands)
    scripts = [one.value.text for one in call.given.options if one.name in {"-e", "--source"} and one.value]  # fmt: skip
    if not scripts and not call.has("-f", "--file"):
        scripts = [operands.pop(0).text] if operands else []
    for script in scripts:
        rule = awk_rule(script)
        if rule is not None or "ARGV" in script or "ARGC" in script:
            raise Refused(rule or "script", "awk")
        for need in awk_needs(script):
            call.add(need, None, "", "script")
    return [one for one in operands if not _SET.fits(one.text)]


def _jq(call: Call) -> list[Word]:
    return _filtered(call, jq_rule)


def _yq(call: Call) -> list[Word]:
    operands = list(call.given.operands)
    if operands and operands[0].text in {"e", "eval", "ea", "eval-all"}:
        del operands[0]
    call.given = call.given._replace(operands=operands)
    # Alone it may be a file.
    if len(operands) == 1 and not call.at.fed and not call.has("-n", "--null-input"):
        call.add_paths("reads", operands[0], "operand")
    return _filtered(call, yq_rule)


def _filtered(call: Call, judged: Callable[[str], tuple[str, ...]]) -> list[Word]:
    operands = list(call.given.operands)
    if not call.has("-f", "--from-file") and operands:
        for need in judged(operands.pop(0).text):
            if need == "script":
                raise Refused("script", call.name)
            call.add(need, None, "", "script")
    if call.has("--args", "--jsonargs"):
        return []
    return operands


def _date(call: Call) -> list[Word]:
    """Anything but setting the clock."""
    for one in call.given.operands:
        if not one.text.startswith("+"):
            raise Refused("operand", f"date {one.text}")
    return []


_SECONDS = Pattern(r"\d{1,2}(?:\.\d*)?|1[0-2]\d|\d{1,2}(?:\.\d*)?s|[12]m|\.\d+")


def _sleep(call: Call) -> list[Word]:
    if not all(_SECONDS.fits(one.text) for one in call.given.operands):
        call.add("endless", None, "", "operand")
    return call.given.operands


def _seq(call: Call) -> list[Word]:
    if any("inf" in one.text.lower() or len(one.text) > 9 for one in call.given.operands):
        call.add("endless", None, "", "operand")
    return call.given.operands


def _ping(call: Call) -> list[Word]:
    if not call.has("-c", "-w", "--count", "--deadline"):
        call.add("endless", None, "", "")
    return call.given.operands


def _interval(call: Call) -> list[Word]:
    """`vmstat 1` goes on, `vmstat 1 5` does not."""
    numbers = [one for one in call.given.operands if one.text.isdigit()]
    if len(numbers) == 1 and not call.has("-c", "--count"):
        call.add("endless", None, "", "operand")
    return call.given.operands


def _ps(call: Call) -> bool:
    """BSD's letters have no dash; `e` among them shows the environment, as a column of that name does."""
    first = True
    words = list(call.words)
    while words:
        text = words[0].text
        if text[:1] == "-":
            found, read = given(call.entry, words, most=1)
            if any(one.value is not None and "environ" in one.value.text for one in found.options):
                call.add("environment", None, "", "option")
            if any(one.name in {"-E"} for one in found.options):
                call.add("environment", None, "", "-E")
            words = words[read - 1 if found.operands else read :]
            first = False
            continue
        del words[0]
        if text.isalpha() and first and "e" in text:
            call.add("environment", None, "", text)
        if "environ" in text:
            call.add("environment", None, "", text)
        first = False
    return True


_PROCESS = Pattern(r"%?[1-9]\d*|%[+%-]?\w*")


def _kill(call: Call) -> bool:
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
    words = [one for one in words if one != "--"]
    if not words or not all(map(_PROCESS.fits, words)) or "1" in words:
        raise Refused("operand", "kill")
    call.add("project", HERE, "", "")
    return True


_SIGNAL = Pattern(r"-(?:SIG)?[A-Z]{3,6}[12]?|-\d{1,2}|--signal=\w+")
_ASSIGNED = Pattern(r"[A-Za-z_][\w.-]*[:+?]?=.*", DOTALL)


def _make(call: Call) -> list[Word]:
    """Targets by plain names, and variables of the project's own."""
    left = []
    for one in call.given.operands:
        if _ASSIGNED.fits(one.text):
            call.add("setting", None, one.text, "operand")
        else:
            left.append(one)
    return left


def _echo(call: Call) -> bool:
    """What it prints is text."""
    if call.words[:1] and call.words[0].text == "-v":
        raise Refused("option", f"{call.name} -v")
    return True


def _less(call: Call) -> list[Word]:
    left = [one for one in call.given.operands if not one.text.startswith("+")]
    for one in call.given.operands:
        if one.text.startswith("+"):
            if not _PLUS.fits(one.text):
                raise Refused("operand", f"{call.name} {one.text}")
            if "F" in one.text:
                call.add("endless", None, "", one.text)
    return left


_PLUS = Pattern(r"\+\+?(?:\d+|G|F|/[\w ]*)?")


SPECIALS: Mapping[str, Special] = {
    "find": _find,
    "xargs": _xargs,
    "env": _env,
    "cd": _cd,
    "test": _test,
    "ip": _ip,
    "command": _command,
    "tar": _tar,
    "ps": _ps,
    "kill": _kill,
    "echo": _echo,
}
CHECKS: Mapping[str, Check] = {
    "sed": _sed,
    "awk": _awk,
    "jq": _jq,
    "yq": _yq,
    "date": _date,
    "sleep": _sleep,
    "seq": _seq,
    "ping": _ping,
    "interval": _interval,
    "make": _make,
    "less": _less,
}
