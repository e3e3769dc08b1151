"""Readers of shell programs whose words are no mere options and operands: find, xargs, env, sed, awk, tar, test, make, and the like.

`SPECIALS` read all words of a command; `CHECKS` look at options and operands that were read by the table, and say which operands are left
for it to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.validators.shell.call import Call
from gatewright.validators.shell.effects import DASHED, MARK, NUMBERS, At, Effect, Listed, marked, paths_of
from gatewright.validators.shell.found import chooses
from gatewright.validators.shell.places import HERE, is_kept, resolve
from gatewright.validators.shell.scripts import awk_needs, jq_rule, sed_needs, yq_rule
from gatewright.validators.shell.values import is_local
from gatewright.validators.shell.words import Given, Refused, given
from gatewright.validators.shell_scripts import awk_rule, sed_rule
from gatewright.validators.shell_special import ip as ip_rule
from gatewright.validators.shell_special import tested
from gatewright.validators.shell_syntax import Word
from gatewright.validators.sql_reading import sql_rule

__all__ = ["CHECKS", "PREPARES", "SPECIALS"]

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
            command = list(words[at:end])
            # Behind `+` there may be several.
            more = [one for one in command if one.text == "{}"] if words[end].text == "+" else []
            commands.append([*command, *more])
            at = end + 1
        else:
            at = _tested(call, known, words, at)
            deletes = deletes or text == "-delete"
            tests += [one.text for one in words[at - 1 : at] if one.text != text]
    for one in roots:
        call.seen(one)
    begun = roots or [Word(".")]
    for one in begun:
        call.add_paths("lists", one, "operand")
        for path in paths_of(one, call.at):
            for named in call.named:
                for text in (named, f"*/{named}"):
                    call.add("names", resolve(path, text.lstrip("/"), glob=True), named, "-name")
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
        call.named.append(value.text)
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
        command += [Word(MARK), Word(MARK)]
    listed = call.at.listed.get(MARK)
    if listed and any(one.dashed for one in listed) and not any(one.text == "--" for one in command):  # fmt: skip
        call.at = call.at._replace(listed={**call.at.listed, DASHED: ()})
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
    for one in found.operands:
        call.seen(one)
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
        elif name in {"-T", "--files-from"} and mode not in _READING | _UNPACKING:
            raise Refused("unknown_arguments", f"tar {name}")
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
            continue
        del words[0]
        if text.isalpha() and "e" in text and len(text) < len("command"):
            call.add("environment", None, "", text)
        if "environ" in text:
            call.add("environment", None, "", text)
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
    words = [one for one in words if one != "--" and not _is_number(call, one)]
    if not words and any(marked(one.text) for one in call.words):
        call.add("project", HERE, "", "")
        return True
    if not words or not all(map(_PROCESS.fits, words)) or "1" in words:
        raise Refused("operand", "kill")
    call.add("project", HERE, "", "")
    return True


def _is_number(call: Call, text: str) -> bool:
    listed = call.at.listed.get(marked(text)) if marked(text) == text else None
    return bool(listed) and all(one.root == NUMBERS for one in listed or ())


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


_METHOD, _ITEM = Pattern(r"[A-Z]+"), Pattern(r"[\w.\[\]-]+(?:==|:=@?|=@?|@|:[^\d/]).*", DOTALL)
_ASKING = frozenset({"GET", "HEAD", "OPTIONS"})
_HTTPIE = frozenset({"http", "https", "xh", "httpie", "curlie"})
_FILED = frozenset("-d -F -T --data --data-binary --data-ascii --data-urlencode --json --form --upload-file --url-query --post-file --body-file -H --header -w --write-out".split())  # fmt: skip


def _curl(call: Call) -> list[Word]:
    """What it asks, and what it sends from here."""
    operands = list(call.given.operands)
    for name, _, value in call.given.options:
        if value is None:
            continue
        text = value.text
        if name in {"-X", "--request", "--method"} and text not in _ASKING:
            call.add("sends", None, text, name)
        elif name in {"-b", "--cookie", "--load-cookies"} and "=" not in text:
            call.add_paths("reads", value, name)
            call.add("sends", None, text, name)
        elif name in _FILED and ("@" in text or name in {"-T", "--upload-file", "--post-file", "--body-file"}):  # fmt: skip
            filed = text.rpartition("@")[2].partition(";")[0]
            if name in {"-H", "--header", "-w", "--write-out"} and not text.startswith("@"):
                continue
            call.add_paths("reads", value._replace(text=filed), name)
            call.add("sends", None, text, name)
        if name in {"-w", "--write-out"} and "%output{" in text:
            raise Refused("option", call.name)
    if call.name not in _HTTPIE:
        return operands
    if operands and _METHOD.fits(operands[0].text):
        if operands.pop(0).text not in _ASKING:
            call.add("sends", None, "", "operand")
    for item in operands[1:]:
        sends = "==" not in item.text and ("=" in item.text or "@" in item.text)
        if "@" in item.text:
            call.add_paths("reads", item._replace(text=item.text.rpartition("@")[2]), "operand")
        if sends or "@" in item.text:
            call.add("sends", None, item.text, "operand")
    return operands[:1]


_REMOTE = Pattern(r"[A-Za-z0-9_][\w./-]*")
_REFSPEC = Pattern(r"[\w@][\w./@^~{}*-]*(?::[\w@][\w./@^~{}*-]*)?")


def _git_remote(call: Call) -> list[Word]:
    """A remote by its name; by its address only what is cloned or asked for its branches."""
    operands = list(call.given.operands)
    if call.name == "git clone" or (call.name == "git ls-remote" and operands and _is_address(operands[0].text)):  # fmt: skip
        if operands:
            call.add("host", None, operands[0].text, "operand")
            if operands[0].text.startswith("-") or "::" in operands[0].text:
                raise Refused("operand", operands[0].text)
        for one in operands[1:]:
            call.add_paths("writes" if call.name == "git clone" else "lists", one, "operand")
        return []
    for at, one in enumerate(operands):
        if not (_REMOTE.fits(one.text) if not at else _REFSPEC.fits(one.text)):
            raise Refused("outside", f"{call.name} {one.text}")
    return []


def _is_address(text: str) -> bool:
    return ":" in text


_LISTING = frozenset({"-l", "--list", "--get-regexp", "--show-origin", "--get-urlmatch"})
_KEY = Pattern(r"[A-Za-z][\w-]*(?:\.[^\s=]+)*\.[A-Za-z][\w-]*")
_SECRET_KEY = Pattern(r"(?:credential|http|https|url|remote|sendemail|github|gitlab|oauth)\..*|.*(?:token|password|secret|key|header).*", IGNORECASE)  # fmt: skip


def _git_config(call: Call) -> list[Word]:
    """Reading settings; and setting what only changes how git looks, in the repository."""
    operands = [one.text for one in call.given.operands]
    if call.has("--edit", "-e"):
        raise Refused("option", "git config --edit")
    if call.has(*_LISTING) or call.name == "git config list":
        call.add("environment", None, "", "option")
        return []
    if not operands:
        raise Refused("subcommand", "git config")
    key, *values = operands
    if not _KEY.fits(key):
        raise Refused("subcommand", f"git config {key}")
    reads = call.name == "git config get" or call.has("--get", "--get-all", "--get-color", "--get-colorbool")  # fmt: skip
    if reads or (not values and not call.has("--unset", "--unset-all", "--add", "--replace-all")):
        if _SECRET_KEY.fits(key):
            call.add("environment", None, key, "operand")
        return []
    if call.has("--global", "--system"):
        raise Refused("subcommand", "git config --global")
    call.found.append(Effect("settings", None, f"{key}={' '.join(values)}", "operand", "git config"))  # fmt: skip
    return []


_DOTTED = Pattern(r"\.(?:tables|schema|fullschema|indexes|indices|databases|dbinfo|dump|headers?|mode|help|show|stats|timer|width|nullvalue|separator|quit|exit)(?: [\w \"'%*.,-]*)?")  # fmt: skip
_SQL_DANGER = Pattern(
    r"(?:.*\W)?(?:drop|truncate|attach|detach|load_extension|readfile|writefile|edit|fts3_tokenizer|pragma|copy|lo_import|lo_export|dblink\w*|pg_read\w*|pg_ls\w*|"
    r"into\s+(?:outfile|dumpfile)|vacuum\s+(?:\w+\s+)?into|create\s+(?:\w+\s+)*(?:extension|function|language|server|user|role)|alter\s+(?:system|role|user)|grant|revoke|"
    r"load\s+data|system|program)(?:\W.*)?",
    IGNORECASE | DOTALL,
)


_ALL_ROWS = Pattern(r"(?:.*;)?\s*(?:delete\s+from\s+[\w.\"`]+|update\s[^;]*\sset\s[^;]*)\s*(?:;.*)?", IGNORECASE | DOTALL)
_CHOSEN = Pattern(r"(?:.*\W)?(?:where|limit)\W.*", IGNORECASE | DOTALL)


def _sqlite(call: Call) -> list[Word]:
    """A file of a database, and what is asked of it."""
    operands = list(call.given.operands)
    for code in operands[1:]:
        text = code.text.strip()
        if text.startswith("."):
            if not _DOTTED.fits(text):
                raise Refused("operand", f"sqlite3 {text}")
        elif sql_rule(text, "sqlite") is not None:
            if _SQL_DANGER.fits(text) or _ALL_ROWS.fits(text) or "\\" in text or text.startswith("."):
                raise Refused("operand", "sqlite3")
            call.add_paths("writes", operands[0], "operand")
    if not call.has("-readonly", "--readonly", "-safe"):
        call.add("writes_here", call.at.folder, "", "operand")
    if len(operands) == 1 and call.at.fed:
        call.add("code", None, call.at.fed, "input")
    return operands[:1]


_META = Pattern(r"\\\\(?:d\\w*\\+?|l\\+?|dt|x|q|timing|conninfo|echo|z|encoding|set)(?: [\\w.*\"' ]*)?")
_SQL_TEXTS = frozenset("-c --command -e --execute".split())
_REDIS = frozenset(
    "ping get mget set setex setnx hget hgetall hset hkeys hlen hvals hexists hscan keys scan exists ttl pttl type strlen llen lrange lindex lpush rpush lpop rpop "
    "smembers scard sadd srem sismember sscan zrange zrevrange zcard zadd zscore zrem zscan info dbsize time echo del unlink expire incr decr incrby select memory "
    "object xlen xrange xinfo randomkey getrange persist command help".split()
)


def _sql(call: Call) -> list[Word]:
    """What is asked of a database of this machine, or of a service by a plain name."""
    operands = list(call.given.operands)
    hosts = [one.value.text for one in call.given.options if one.opt.kind == "hosts" and one.value]
    hosts += [one.value.text for one in call.given.options if one.value and "://" in one.value.text]
    for name, _, value in call.given.options:
        if name in {"-f", "--file"} and value is not None:
            call.add("run", resolve(call.at.folder, value.text), value.text, name)
    for one in operands:
        if one.text.endswith((".js", ".mongodb")):
            call.add("run", resolve(call.at.folder, one.text), one.text, "operand")
    hosts += [one.text for one in operands if "://" in one.text or "host=" in one.text]
    for host in hosts:
        if not is_local(host.rpartition("host=")[2]) and ("." in host or ":" in host):
            raise Refused("sends_away", f"{call.name} {host}")
    if call.name in {"redis-cli", "valkey-cli"}:
        if operands and operands[0].text.casefold() not in _REDIS:
            raise Refused("operand", f"{call.name} {operands[0].text}")
        return []
    asked = [one.value.text for one in call.given.options if one.name in _SQL_TEXTS and one.value]
    for text in asked:
        for line in text.strip().splitlines():
            meta = line.strip().startswith("\\")
            if meta and not _META.fits(line.strip()):
                raise Refused("operand", call.name)
        if _SQL_DANGER.fits(text) or _ALL_ROWS.fits(text) or ("\\" in text and not text.strip().startswith("\\")):
            raise Refused("operand", call.name)
    if call.at.fed and not asked and not call.has("-f", "--file"):
        call.add("code", None, call.at.fed, "input")
    return []


def _dd(call: Call) -> list[Word]:
    """Its operands say what is read and written."""
    for one in call.given.operands:
        name, _, value = one.text.partition("=")
        if name == "if" and value != "/dev/zero":
            call.add_paths("reads", one._replace(text=value), "operand")
        elif name == "of":
            call.add_paths("writes", one._replace(text=value), "operand")
    if not any(one.text.startswith("of=") for one in call.given.operands):
        return []
    call.add("writes_here", call.at.folder, "", "operand")
    return []


def _ln(call: Call) -> list[Word]:
    """Where a link is, and what it leads to: for a symbolic one counted from where it lies."""
    operands = list(call.given.operands)
    symbolic = call.has("-s", "--symbolic") and not call.has("-t", "--target-directory")
    if not symbolic or len(operands) != 2:
        return operands
    to, link = operands
    folder = link.text.rpartition("/")[0]
    call.add("writes", resolve(resolve(call.at.folder, folder), to.text), to.text, "operand")
    return [link]


_RIGHTS = Pattern(r"[ugoa,+=rwxXt-]*[+=][rwxXt]*s.*|[0-7]*[2467][0-7]{3}")


def _rights(call: Call) -> list[Word]:
    """Rights, but none with which a program runs as somebody else."""
    said = [one.text for one in call.given.operands[:1]] + [one.value.text for one in call.given.options if one.name in {"-m", "--mode"} and one.value]  # fmt: skip
    if any(map(_RIGHTS.fits, said)):
        raise Refused("operand", f"{call.name} {said[0]}")
    return call.given.operands


def _top(call: Call) -> list[Word]:
    if not call.has("-n", "-l"):
        call.add("endless", None, "", "")
    return call.given.operands


def _sysctl(call: Call) -> list[Word]:
    if any("=" in one.text for one in call.given.operands):
        raise Refused("operand", "sysctl")
    return call.given.operands


_BOUND = Pattern(r"(?:type=(?:bind|volume|tmpfs),?)?(.*)")


def _docker_run(call: Call) -> list[Word]:
    """Volumes by their names or from inside; no namespaces of the host."""
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


def _git_remotes(call: Call) -> list[Word]:
    """Addresses may hold a password."""
    if call.has("-v", "--verbose"):
        call.add("environment", None, "", "-v")
    return call.given.operands


def _rsync(call: Call) -> list[Word]:
    """What it deletes is in the last folder."""
    if any(one.name.startswith("--delete") or one.name == "--del" for one in call.given.options):
        for one in call.given.operands[-1:]:
            call.add_paths("deletes", one, "operand")
    return call.given.operands


def _truncate(call: Call) -> list[Word]:
    """What is left of a file is nothing, or little."""
    for one in call.given.operands:
        call.add_paths("deletes", one, "operand")
    return call.given.operands


def _copied(call: Call) -> list[Word]:
    """What is copied keeps its name: a folder of hooks or settings is one elsewhere as well."""
    for one in call.given.operands[:-1]:
        if is_kept(resolve(HERE, one.text.rstrip("/").rpartition("/")[2], glob=one.glob)):
            raise Refused("outside", f"{call.name} {one.text}")
    return call.given.operands


_NAMED = {"--arg": "text", "--argjson": "text", "--slurpfile": "reads", "--rawfile": "reads", "--argfile": "reads"}  # fmt: skip


def _named_values(call: Call) -> list[Word]:
    """The words of `jq` without options that have a name and a value."""
    left, at, words = list[Word](), 0, call.words
    while at < len(words):
        kind = _NAMED.get(words[at].text)
        if kind is None:
            left.append(words[at])
            at += 1
            continue
        if at + 2 >= len(words):
            raise Refused("option", f"{call.name} {words[at].text}")
        if kind == "reads":
            call.add_paths("reads", words[at + 2], words[at].text)
        at += 3
    return left


def _head(call: Call) -> list[Word]:
    if any(one.value is not None and len(one.value.text) > len("-1000000000") for one in call.given.options):  # fmt: skip
        call.add("endless", None, "", "operand")
    return call.given.operands


_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})


def _fd(call: Call) -> list[Word]:
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


def _zip(call: Call) -> list[Word]:
    """What unpacks does so in the folder that an option names, or here."""
    packs = call.name == "zip" or call.has("-l", "-p", "-t", "-v", "-Z", "-c")
    if not packs:
        to = next((one.value for one in call.given.options if one.name == "-d"), None)
        path = call.at.folder if to is None else resolve(call.at.folder, to.text)
        call.add("unpacks", path, "", "operand")
        call.add_paths("reads", call.given.operands[0], "operand") if call.given.operands else None
        return []
    return call.given.operands


PREPARES: Mapping[str, Check] = {"jq": _named_values, "fd": _fd}
"""What takes words out before options are read."""
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
    "curl": _curl,
    "git-remote": _git_remote,
    "git-config": _git_config,
    "sqlite": _sqlite,
    "zip": _zip,
    "head": _head,
    "cp": _copied,
    "mv": _copied,
    "git remote": _git_remotes,
    "rsync": _rsync,
    "truncate": _truncate,
    "top": _top,
    "sysctl": _sysctl,
    "docker-run": _docker_run,
    "sql": _sql,
    "dd": _dd,
    "ln": _ln,
    "chmod": _rights,
    "install": _rights,
    "mkdir": _rights,
}
