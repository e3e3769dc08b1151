"""What a shell command needs besides reading the files that it names: the capabilities network, environment and endless of `sandbox`.

Most is in the table of programs (`shell_readers`). Here stands what depends on more than one option: a `ping` without a count, a `ps`
that shows variables, a script that asks for the environment, and what programs with subcommands ask elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_known import options_need
from gatewright.validators.shell_programs import PROGRAMS, program_name
from gatewright.validators.shell_readers import READERS
from gatewright.validators.shell_syntax import Word

__all__ = ["needs"]

_WRAPPERS = frozenset("env xargs time nice stdbuf timeout command".split())
_ENDLESS_DEVICES = Pattern(r"(?:.*[=@])?/+(?:\./+)*dev/+(?:zero|full|u?random|tty\w*|console|pts/.*|ptmx|input/.*|std(?:in)|fd/0)", DOTALL)  # fmt: skip
_COUNTED = frozenset({"head", "timeout", "dd"})
_SECONDS = Pattern(r"\d{1,2}(?:\.\d*)?|1[0-2]\d|\d{1,2}(?:\.\d*)?s|[12]m")
"""How long a `sleep` may be that somebody waits for: two minutes."""

Texts = Sequence[str]


def needs(words: Sequence[Word]) -> frozenset[str]:
    """The capabilities that one command needs, with those of the program that it runs."""
    found: frozenset[str] = frozenset()
    bounded = False
    while words:
        name = program_name(words[0].text)
        texts = [word.text for word in words[1:]]
        found |= _of_one(name, texts)
        bounded = bounded or name == "timeout"
        if name not in _WRAPPERS:
            break
        inner = next((at for at, one in enumerate(words) if at and program_name(one.text) in PROGRAMS), 0)  # fmt: skip
        words = words[inner:] if inner else []
    return found - {"endless"} if bounded else found


def _of_one(name: str, texts: Texts) -> frozenset[str]:
    found = set(options_need(READERS[name], texts)) if name in READERS else set()
    special = _SPECIAL.get(name)
    if special is not None:
        found |= special(texts)
    if name not in _COUNTED and any(map(_ENDLESS_DEVICES.fits, texts)):
        found.add("endless")
    return frozenset(found)


def _if(capability: str, holds: bool) -> set[str]:
    return {capability} if holds else set()


def _has(texts: Texts, short: str, *long: str) -> bool:
    """Whether an option is among the words, also in a cluster of letters."""
    return any(
        (one.startswith("--") and one[2:].partition("=")[0] in long)
        or (short and one[:1] == "-" and one[1:2] != "-" and short in one)
        for one in texts
    )


def _operands(texts: Texts) -> list[str]:
    return [one for one in texts if not one.startswith(("-", "+"))]


def _ping(texts: Texts) -> set[str]:
    return _if("endless", not (_has(texts, "c") or _has(texts, "w")))


def _interval(texts: Texts) -> set[str]:
    """`vmstat 1` goes on, `vmstat 1 5` does not."""
    numbers = [one for one in texts if one.isdigit()]
    return _if("endless", len(numbers) == 1 and not _has(texts, "c", "count"))


def _ps(texts: Texts) -> set[str]:
    """BSD's letters have no dash; `e` among them shows the environment, as a column of that name does."""
    shown = any(
        (
            one[:1] != "-"
            and one.isalpha()
            and "e" in one
            and len(one) <= 6
            and before not in _PS_VALUED
        )
        or "environ" in one
        or (one[:1] == "-" and "E" in one)
        for before, one in zip(["", *texts], texts, strict=False)
    )
    return _if("environment", shown)


_PS_VALUED = frozenset(
    "-C -G -g -o -O -p -q -s -t -U -u -N --sort --format --user --pid --ppid --tty --group --sid --cols k o p t U O".split()
)


def _env(texts: Texts) -> set[str]:
    run = any(program_name(one) in PROGRAMS for one in texts)
    return _if("environment", not run)


_JQ_ENVIRONMENT = Pattern(r"(?:.*[^\w.\"])?(?:env|\$ENV|\$__prog_args|getpath_env)(?:[^\w:].*)?|.*\$ENV.*", DOTALL)  # fmt: skip
_JQ_ENDLESS = Pattern(
    r"(?:.*\W)?(?:repeat|range\s*\([^)]*inf\w*\)|until\s*\(\s*false|while\s*\(\s*true)(?:\W.*)?",
    DOTALL,
)
_YQ_ENVIRONMENT = Pattern(r"(?:.*\W)?(?:str)?env(?:subst)?(?:\W.*)?", DOTALL)
_AWK_ENDLESS = Pattern(r"(?:.*\W)?(?:while\s*\(\s*(?:[1-9]\d*|\"[^\"]+\")\s*\)|for\s*\([^;]*;\s*(?:[1-9]\d*)?\s*;).*", DOTALL)  # fmt: skip


def _jq(texts: Texts) -> set[str]:
    script = [one for one in texts if not one.startswith("-")]
    return _if("environment", any(map(_JQ_ENVIRONMENT.fits, script))) | _if("endless", any(map(_JQ_ENDLESS.fits, script)))  # fmt: skip


def _yq(texts: Texts) -> set[str]:
    return _if("environment", any(map(_YQ_ENVIRONMENT.fits, texts)))


def _awk(texts: Texts) -> set[str]:
    return _if("environment", any("ENVIRON" in one or "PROCINFO" in one for one in texts)) | _if("endless", any(map(_AWK_ENDLESS.fits, texts)))  # fmt: skip


def _sleep(texts: Texts) -> set[str]:
    return _if("endless", not all(map(_SECONDS.fits, texts)))


def _seq(texts: Texts) -> set[str]:
    return _if("endless", any("inf" in one.lower() or len(one) > 9 for one in _operands(texts)))


def _top(texts: Texts) -> set[str]:
    return _if("endless", not _has(texts, "n"))


def _tail(texts: Texts) -> set[str]:
    return _if("endless", any(one[:1] == "-" and one[1:2] != "-" and one[-1:] in {"f", "F"} for one in texts))  # fmt: skip


def _getent(texts: Texts) -> set[str]:
    asked = {"ahosts", "ahostsv4", "ahostsv6", "hosts", "networks"}
    return _if("network", not asked.isdisjoint(texts))


def _fetching(texts: Texts) -> set[str]:
    """Programs that take a URL for a file."""
    return _if("network", any("://" in one for one in texts))


_SCHEME = Pattern(r"[A-Za-z][A-Za-z0-9+.,-]+:.*", DOTALL)


def _probing(texts: Texts) -> set[str]:
    """The same of those that need no slashes behind the scheme."""
    return _fetching(texts) | _if("network", any(map(_SCHEME.fits, texts)))


def _less(texts: Texts) -> set[str]:
    return _if("endless", any(one.startswith("+F") for one in texts))


def _git(texts: Texts) -> set[str]:
    operands = _operands(texts)
    asks = operands[:2] == ["remote", "show"] and "-n" not in texts and len(operands) > 2
    return _if("network", asks or operands[:1] == ["ls-remote"]) | _if("environment", operands[:1] == ["var"])  # fmt: skip


def _container(texts: Texts) -> set[str]:
    follows = _has(texts, "f", "follow") and "logs" in texts
    streams = "stats" in texts and "--no-stream" not in texts
    return _if("endless", follows or streams) | _if("environment", "inspect" in texts)


def _kubectl(texts: Texts) -> set[str]:
    watches = _has(texts, "w", "watch", "watch-only") or ("logs" in texts and _has(texts, "f", "follow"))  # fmt: skip
    return {"network"} | _if("endless", watches)


def _packages(asking: str) -> Callable[[Texts], set[str]]:
    words = frozenset(asking.split())
    return lambda texts: _if("network", not words.isdisjoint(one.partition("=")[0] for one in texts))  # fmt: skip


def _systemctl(texts: Texts) -> set[str]:
    return _if("environment", any("environment" in one.lower() for one in texts) or ("show" in texts and not _has(texts, "p", "property")))  # fmt: skip


def _resolved(texts: Texts) -> set[str]:
    return _if("network", "query" in texts)


_SPECIAL: Mapping[str, Callable[[Texts], set[str]]] = {
    "ping": _ping,
    "ping6": _ping,
    "mtr": lambda texts: {"network"},
    **dict.fromkeys("vmstat iostat mpstat pidstat sar".split(), _interval),
    "ps": _ps,
    "env": _env,
    **dict.fromkeys(("jq",), _jq),
    "yq": _yq,
    **dict.fromkeys("awk gawk mawk nawk".split(), _awk),
    "sleep": _sleep,
    "seq": _seq,
    "top": _top,
    "less": _less,
    "tail": _tail,
    "getent": _getent,
    "xmllint": _fetching,
    "ffprobe": _probing,
    "openssl": _fetching,
    "exiftool": _fetching,
    "history": lambda texts: {"environment"},
    "more": _less,
    "git": _git,
    "docker": _container,
    "podman": _container,
    "kubectl": _kubectl,
    "npm": _packages("view outdated"),
    "pip": _packages("-o --outdated -u --uptodate"),
    "pip3": _packages("-o --outdated -u --uptodate"),
    "apt": _packages(""),
    "systemctl": _systemctl,
    "resolvectl": _resolved,
    "finger": lambda texts: _if("network", any("@" in one for one in texts)),
    "date": lambda texts: set(),
}
"""Program → what it needs by its words."""
