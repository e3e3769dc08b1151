"""Capabilities that scripts need: of sed, awk, jq, yq `endless` (a loop not plainly bounded), `environment`; refuses jq/yq modules, files.

Whether a loop ends nobody can say in general; what is plainly bounded passes, and all else needs the capability `endless`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gatewright.patterns import ASCII, DOTALL, Pattern

__all__ = ["awk_needs", "jq_rule", "sed_needs", "yq_rule"]

_MOST_LOOPS = 16
"""Loops, labels and functions of one script."""
_LABEL = Pattern(r"(?:^|[;{\n])\s*:\s*([\w.-]+)")
_BRANCH = Pattern(r"([^;{}\n]*?)([bt])\s*([\w.-]+)\s*(?:[;}\n]|\n?\Z)")
_NEXT = Pattern(r"(?:^|[;{}\n!0-9$/])\s*[Nn]\s*(?:[;}\n]|\n?\Z)")
_SUBSTITUTES = Pattern(r"s([/|,#@!:])((?:[^\\]|\\.)*?)[/|,#@!:]((?:[^\\]|\\.)*?)[/|,#@!:]\w*\s*[;}\n]?")  # fmt: skip
_LITERAL = Pattern(r"[\w \-,:\"'<>=@#%&~`/]+")


def sed_needs(script: str) -> bool:
    """Whether a loop of a `sed` script may have no end."""
    labels = list(islice(_LABEL.finditer(script), _MOST_LOOPS + 1))
    if len(labels) > _MOST_LOOPS:  # what stands behind each of them is read
        return True
    for label in labels:
        rest = script[label.end() :]
        for branch in _BRANCH.finditer(rest):
            if branch[3] != label[1]:
                continue
            body = rest[: branch.start(2)]
            if branch[2] == "b" and _NEXT.search(body) is None:
                return True
            if branch[2] == "t" and _NEXT.search(body) is None and _repeats(body):
                return True
    return False


def _repeats(body: str) -> bool:
    """Whether a substitution in a loop may always find something again."""
    found = list(_SUBSTITUTES.finditer(body))
    return not found or any(_finds_again(one[2], one[3]) for one in found)


def _finds_again(sought: str, instead: str) -> bool:
    literals = [one[0] for one in _LITERAL.finditer(sought.replace("\\n", "\x01")) if one[0].strip("^$*")]  # fmt: skip
    if "&" in instead or not sought.strip("^$.*?+"):
        return True
    return all(one in instead for one in literals) if literals else "\\1" not in instead and instead != ""  # fmt: skip


_AWK_TEXT = Pattern(r'"(?:[^"\\]|\\.)*"')
_FOR = Pattern(
    r"\bfor\s*\(([^;()]*(?:\([^()]*\)[^;()]*)*)(?:;([^;]*);((?:[^()]|\([^()]*\))*))?\)", ASCII
)
_IN = Pattern(r"\s*\(?\w+\)?\s+in\s+\w+\s*")
_UP = Pattern(r"\s*(\w+)\s*<=?[^<>]*")
_DOWN = Pattern(r"\s*(\w+)\s*>=?[^<>]*")
_WHILE = Pattern(r"\b(?:while|do)\b", ASCII)
_ASKS = Pattern(r"\bwhile\s*\(+\s*(?:\(?\s*getline\b|match\s*\(|sub\s*\(|gsub\s*\()", ASCII)
_LOOP = Pattern(r"\bfor\s*\(", ASCII)
_DEFINED = Pattern(r"\b(?:function|func)\s+(\w+)\s*\(", ASCII)
_NAME = Pattern(r"\w+")
_SET = Pattern(r"(\w+)\s*(?:[-+*/%^]?=[^=]|--|\+\+)|(?:--|\+\+)(\w+)")


def awk_needs(script: str) -> Iterator[str]:
    """The capabilities that an `awk` program needs."""
    if "ENVIRON" in script or "PROCINFO" in script:
        yield "environment"
    plain = _AWK_TEXT.sub('""', script)
    loops = len(_LOOP.findall(plain))
    # For each of them the whole program is read.
    if loops > _MOST_LOOPS or (loops and loops != sum(_is_counted(one[1] or "", one[2], one[3], plain) for one in _FOR.finditer(plain))) or len(_WHILE.findall(plain)) != len(_ASKS.findall(plain)) or _calls_itself([one[1] for one in _DEFINED.finditer(plain)], plain):  # fmt: skip
        yield "endless"


def _is_counted(first: str, asked: str | None, then: str | None, script: str) -> bool:
    if asked is None:
        return _IN.fits(first)
    up, down = _UP.fullmatch(asked), _DOWN.fullmatch(asked)
    name = up[1] if up is not None else down[1] if down is not None else ""
    if not name or then is None:
        return False
    signs = ("++", "+=") if up is not None else ("--", "-=")
    counted = any(f"{name}{sign}" in then.replace(" ", "") or f"{sign}{name}" in then for sign in signs)  # fmt: skip
    # Set again in the body it may never arrive.
    set_ = sum(name in {one[1], one[2]} for one in _SET.finditer(script))
    heads = sum(name in one[0] for one in _FOR.finditer(script))
    return counted and set_ <= 2 * heads


def _calls_itself(names: list[str], script: str) -> bool:
    """Whether a function may call itself: whether one is named more than twice, as each is where it is defined and called."""
    said = [one[0] for one in _NAME.finditer(script)] if names else []
    return len(names) > _MOST_LOOPS or any(said.count(one) > 2 for one in names)


_JQ_TEXT = Pattern(r'"(?:[^"\\]|\\.)*"')
_JQ_MODULES = Pattern(r"(?:.*[^\w.$])?(?:import|include|input_filename|getpath_file|modulemeta|get_search_list)(?:\W.*)?", DOTALL)  # fmt: skip
_JQ_ENVIRONMENT = Pattern(r"(?:.*[^\w.\"$])?env(?:[^\w:].*)?|.*\$(?:ENV|__prog_args).*", DOTALL)
_JQ_ENDLESS = Pattern(r"(?:.*[^\w.$])?(?:repeat|until|while|limit\s*\(\s*-|infinite|inf|halt_error_loop)(?:\W.*)?", DOTALL)  # fmt: skip
_RECURSE = Pattern(r"(?:^|[^\w.$])recurse(?:_down)?\s*\(((?:[^()]|\([^()]*\))*)\)")
_FALLS = Pattern(r"[^;]*(?:\[\]\??|\.[A-Za-z_]\w*\??)\s*(?:;.*)?")
_JQ_RANGE = Pattern(r"(?:^|[^\w.$])range\s*\(([^()]*)\)")
_DEF = Pattern(r"\bdef\s+(\w+)", ASCII)


def jq_rule(script: str) -> tuple[str, ...]:
    """What speaks against a filter of `jq`: `script`, or the capabilities that it needs."""
    plain = "".join(_without_texts(script))
    needs = []
    if _JQ_MODULES.fits(plain):
        return ("script",)
    if _JQ_ENVIRONMENT.fits(plain):
        needs.append("environment")
    if _goes_on(plain):
        needs.append("endless")
    return tuple(needs)


def _without_texts(script: str) -> Iterator[str]:
    """The filter without its texts, but for those that hold filters of their own."""
    at = 0
    for found in _JQ_TEXT.finditer(script):
        yield script[at : found.start()]
        yield found[0] if "\\(" in found[0] else '""'
        at = found.end()
    yield script[at:]


def _goes_on(plain: str) -> bool:
    if _JQ_ENDLESS.fits(plain) or not all(_FALLS.fits(one[1]) for one in _RECURSE.finditer(plain)):
        return True
    if any(len(part.strip()) > 8 or "e" in part.lower() or "*" in part for one in _JQ_RANGE.finditer(plain) for part in one[1].split(";") if part.strip()[:1].isdigit() or "*" in part):  # fmt: skip
        return True
    names = [one[1] for one in _DEF.finditer(plain)]
    return _calls_itself(names, plain)


_YQ_FILES = Pattern(r"(?:.*\W)?(?:load|load_str|load_xml|load_props|load_base64|load_csv|load_tsv|system|input_filename|import|include|split_doc_to)(?:\W.*)?", DOTALL)  # fmt: skip
_YQ_ENVIRONMENT = Pattern(r"(?:.*[^\w.$])?(?:(?:str)?env\s*\(|envsubst).*|.*\$ENV.*", DOTALL)


def yq_rule(script: str) -> tuple[str, ...]:
    """The same of an expression of `yq`, whose `load` reads files."""
    plain = "".join(_without_texts(script))
    if _YQ_FILES.fits(plain):
        return ("script",)
    needs = ["environment"] if _YQ_ENVIRONMENT.fits(plain) else []
    return (*needs, *(["endless"] if _goes_on(plain) else []))
