"""Exposed names of several servers' tools, prompts, resources (`server__tool`, wrapped URIs), of the gateway's own tools; and back.

The canonical id of a tool is `(server, name)`; policy knows nothing else. Hosts and model APIs take
fewer characters and shorter names than servers use, so each target gets an *exposed* name: server and
tool joined by `__`, in letters, digits, `_` and `-`, within a budget. Theory: the names are a function
of the set of targets, never of the order in which servers arrived, and a target that has to give way
(too long, or two targets map to one name) ends in `_` and a digest of its canonical id. Nobody can take
over the name of somebody else: of several claimants of one name only the one who is spelled exactly so
keeps it, and where that is not one, none does.

Names go back to targets by the table, so nothing has to be parsed out of them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Generator, Iterable, Mapping
from urllib.parse import quote, unquote

import msgspec

from gatewright.call import KERNEL, Target
from gatewright.patterns import Pattern

__all__ = [
    "BUDGET",
    "META_METHODS",
    "META_TOOLS",
    "SMALLEST_BUDGET",
    "Names",
    "Naming",
    "expose_names",
    "expose_uris",
    "is_meta",
    "kernel_names",
    "looks_wrapped",
    "meta_tool",
    "prefixes_of",
    "spellings",
    "unwrap_uri",
    "wrap_template",
    "wrap_uri",
]

BUDGET = 46
"""What is left of 64 characters after `mcp__gatewright__`, with a little room for longer mounts."""

SMALLEST_BUDGET = 34
"""Room for one character and the longest digest."""

_SEPARATOR = "__"
_FOREIGN = Pattern(r"[^A-Za-z0-9_-]")
_DIGESTS = (0, 8, 16, 32)
"""Hex digits by level; a target that still collides goes one level up."""

_SCHEME = "gatewright://"


class Names(msgspec.Struct, frozen=True):
    """A table that goes both ways: target → exposed name, and every accepted spelling → target."""

    exposed: Mapping[Target, str]
    targets: Mapping[str, Target]

    def find(self, name: str) -> Target | None:
        """The target of an exposed name, else of canonical `server/tool`, else of `server.tool`."""
        return self.targets.get(name)


Naming = Generator[None, None, Names]
"""The making of a table, step by step (`slices`): ten thousand names that clash take a fifth of a second."""


def expose_names(
    targets: Iterable[Target],
    *,
    prefixes: Mapping[str, str] | None = None,
    bare: Collection[str] = (),
    fixed: Mapping[Target, str] | None = None,
    budget: int = BUDGET,
) -> Naming:
    """Names for these tools (or prompts).

    `prefixes` gives a server another prefix than its id. Tools of the servers in `bare` keep their own names letter by letter:
    nothing is mapped or cut for them, unless it is the id of another server's tool. `fixed` names are given away first and
    never change. Raises `ValueError` for a budget below `SMALLEST_BUDGET`, or for two targets with one fixed name. The table
    keeps the order in which targets came; the names do not depend on it.
    """
    if budget < SMALLEST_BUDGET:
        raise ValueError(f"a budget of {budget} characters is below {SMALLEST_BUDGET}")
    given = dict(fixed or {})
    if len(set(given.values())) < len(given):
        raise ValueError("two targets cannot have one fixed name")
    free = [target for target in dict.fromkeys(targets) if target not in given]
    plain: dict[Target, str] = {}
    levels: dict[Target, int] = {}
    names: dict[Target, str] = {}
    taken = set(given.values())
    ids = yield from _ids([*free, *given])
    for target in free:
        yield
        plain[target] = _plain(target, prefixes or {}, bare, budget)
        levels[target] = int(
            ids.get(plain[target], target.server) != target.server
            if target.server in bare
            else len(plain[target]) > budget
        )
        names[target] = _name(target, plain[target], levels[target], budget)
    # A longer name may meet another one, so all are compared once more. Digests differ at the last level.
    while clashing := (yield from _clashing(names, taken)):
        for group in clashing:
            yield
            for target in _giving_way(group, names, levels, taken, bare):
                yield
                levels[target] += 1
                names[target] = _name(target, plain[target], levels[target], budget)
    return (yield from _table(names | given))


def _ids(targets: Iterable[Target]) -> Generator[None, None, dict[str, str]]:
    """Canonical and dotted id of each target → its server."""
    found: dict[str, str] = {}
    for target in targets:
        yield
        found[f"{target.server}.{target.name}"] = target.server
        found[f"{target.server}/{target.name}"] = target.server
    return found


def prefixes_of(server: str, prefix: str | None) -> tuple[str, ...]:
    """What the exposed names of a server's tools begin with, whatever prefix it is given."""
    return tuple(f"{_FOREIGN.sub('_', one)}{_SEPARATOR}" for one in {server, prefix or server})


def spellings(target: Target, prefix: str | None = None, budget: int = BUDGET) -> list[str]:
    """All that a target may be exposed as, those first that are nobody else's."""
    plain = _plain(target, {target.server: prefix or target.server}, (), budget)
    return [_name(target, plain, level, budget) for level in reversed(range(len(_DIGESTS)))]


META_METHODS = ("discover", "request", "session", "session.evict")
"""What MGP §16 has as methods, behind `mgp/tools/`."""

META_TOOLS = (*META_METHODS, "describe", "call")
"""The gateway's own tools about tools, as it names them behind `tools.`: everybody may use them, and they show to nobody what he
may not see."""


def meta_tool(name: str) -> str:
    """The kernel's name of one of `META_TOOLS`."""
    return f"tools.{name}"


def is_meta(target: Target) -> bool:
    """Whether it is one of those."""
    return target.server == KERNEL and target.name in _META


_META = frozenset(map(meta_tool, META_TOOLS))


def kernel_names(name: str) -> tuple[str, str]:
    """What a tool of the gateway itself is called (`access.query`): as hosts see it, in characters that
    all of them take (`mgp_access_query`), and like the method that does the same (`mgp/access/query`)."""
    return f"{KERNEL}_{_FOREIGN.sub('_', name)}", f"{KERNEL}/{name.replace('.', '/')}"


def _plain(target: Target, prefixes: Mapping[str, str], bare: Collection[str], budget: int) -> str:
    """The name as it would be, or so much of it that it is too long."""
    if target.server in bare:
        return target.name
    prefix = prefixes.get(target.server, target.server)
    # One character more than fits tells that it does not; a name of megabytes is not mapped as a whole.
    return _FOREIGN.sub("_", f"{prefix}{_SEPARATOR}{target.name}"[: budget + 1])


def _name(target: Target, plain: str, level: int, budget: int) -> str:
    if level == 0:
        return plain
    text = f"{target.server}/{target.name}".encode(errors="surrogatepass")
    digits = _DIGESTS[level]
    digest = hashlib.sha256(text).hexdigest()[:digits]
    head = _FOREIGN.sub("_", plain[: budget - digits - 1])
    return f"{head}_{digest}"


def _clashing(
    names: Mapping[Target, str], taken: Collection[str]
) -> Generator[None, None, list[list[Target]]]:
    """The groups of targets that would share one name with each other or with a fixed name."""
    groups: dict[str, list[Target]] = defaultdict(list)
    for target, name in names.items():
        yield
        groups[name].append(target)
    return [group for name, group in groups.items() if len(group) > 1 or name in taken]


def _giving_way(
    group: list[Target],
    names: Mapping[Target, str],
    levels: Mapping[Target, int],
    taken: Collection[str],
    bare: Collection[str],
) -> list[Target]:
    """Who of a group must take a longer digest; decided by the group as a set."""
    if names[group[0]] in taken:
        return group
    highest = max(levels[target] for target in group)
    lower = [target for target in group if levels[target] < highest]
    # A name that was chosen to read like somebody's digest gives way to it, not the other way round.
    if lower:
        return lower
    exact = [target for target in group if levels[target] == 0 and _exact(target, names, bare)]
    return [target for target in group if target not in exact] if len(exact) == 1 else group


def _exact(target: Target, names: Mapping[Target, str], bare: Collection[str]) -> bool:
    """Whether mapping changed nothing of the tool's own name."""
    return target.server in bare or names[target].endswith(_SEPARATOR + target.name)


def _table(exposed: Mapping[Target, str]) -> Naming:
    spellings: dict[str, set[Target]] = defaultdict(set)
    slashed: dict[str, Target] = {}
    for target in exposed:
        yield
        slashed[f"{target.server}/{target.name}"] = target
        spellings[f"{target.server}.{target.name}"].add(target)
    # A dotted spelling that two targets share belongs to neither: it must not depend on order.
    targets = {name: found.pop() for name, found in spellings.items() if len(found) == 1}
    yield
    # In this order: an exposed name wins over a canonical id, and that over a dotted spelling.
    targets |= slashed
    targets |= {name: target for target, name in exposed.items()}
    return Names(dict(exposed), targets)


def expose_uris(
    resources: Iterable[Target],
    beside: Callable[[Target], bool] = lambda _: False,
    apart: Container[str] = (),
) -> Naming:
    """URIs for resources, whose `name` is the URI their server gave them.

    A URI that one server alone has stays as it is; one that several have is wrapped for each of them,
    and so is one that looks wrapped already: a server must not answer under the name of another. `beside` says
    whether another server claims a resource's URI in some other way. What servers have that are `apart` is wrapped in any case, and
    changes nothing for others.
    """
    owners: dict[str, list[Target]] = defaultdict(list)
    exposed: dict[Target, str] = {}
    for resource in dict.fromkeys(resources):
        yield
        if resource.server in apart:
            exposed[resource] = wrap_uri(resource)
        else:
            owners[resource.name].append(resource)
    for uri, found in owners.items():
        for resource in found:
            yield
            several = len(found) > 1 or looks_wrapped(uri) or beside(resource)
            exposed[resource] = wrap_uri(resource) if several else uri
    return Names(exposed, {uri: resource for resource, uri in exposed.items()})


def wrap_uri(resource: Target) -> str:
    """`gatewright://SERVER/URI` with the server's own URI percent-encoded: valid, and reversible."""
    return f"{_SCHEME}{resource.server}/{quote(resource.name, safe='', errors='surrogatepass')}"


def wrap_template(template: Target) -> str:
    """The same for a URI template. It is not encoded, because what its variables expand to is not."""
    return f"{_SCHEME}{template.server}/{template.name}"


def looks_wrapped(uri: str) -> bool:
    """Whether a URI or a template of a server reads as if it were another server's, in qualified form. The case of a scheme
    means nothing (RFC 3986, 3.1), and many clients write it small."""
    return uri[: len(_SCHEME)].lower() == _SCHEME


def unwrap_uri(uri: str) -> Target | None:
    """The server and its own URI from a wrapped URI or an expanded wrapped template, else None."""
    if not looks_wrapped(uri):
        return None
    server, slash, rest = uri[len(_SCHEME) :].partition("/")
    if not (server and slash and rest):
        return None
    # Encoded text has no colon left, and every URI has one behind its scheme.
    return Target(server, rest if ":" in rest else unquote(rest, errors="surrogatepass"))
