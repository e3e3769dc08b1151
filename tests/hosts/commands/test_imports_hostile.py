"""Ten thousand hostile configurations: no crash, no secret in any output, no command executed.

Each goes the whole way of the command but for its process: read, planned, told, and written into a file
that has to load. What would start a program, open a connection or write a file is counted by the
interpreter itself.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatewright.config import SettingsError, load
from gatewright.config.build import build
from gatewright.config.documents import parse as parse_ours
from gatewright.config.draft import Draft
from gatewright.config.edit import add_servers
from gatewright.hosts.commands.import_report import comment, document, remarks, rows
from gatewright.hosts.commands.import_secrets import Store
from gatewright.hosts.model import CannotRead
from gatewright.hosts.parse import parse
from gatewright.hosts.plan import Known, make_plan
from gatewright.hosts.read import Place, read
from tests.cli.wrong_values import renamed, replaced, turns
from tests.hosts.host_samples import SAMPLES
from tests.hosts.more_samples import MANIFEST, MORE_SAMPLES

FORMED = "ghp_Canary0123456789AbCdEfGhIjKlMnOpQrSt"
"""A secret by its form, planted anywhere."""
NAMED = "hunter2canary"
"""A secret by where it stands alone: planted only under names and flags of secrets, and in URLs."""

ACTED = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.startfile"}
ACTED |= {"socket.connect", "socket.bind", "os.remove", "os.rename", "os.mkdir", "pty.spawn"}

OURS = '[secrets]\nstore = "file"\n'

TEXTS = [one.text for one in (*SAMPLES.values(), *MORE_SAMPLES.values())] + [MANIFEST]
DOCUMENTS = [parse(text.encode()) for text in TEXTS]

_acts: list[str] = []
_watching = False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and (event in ACTED or (event == "open" and _writes(arguments))):
        _acts.append(event)


def _writes(arguments: tuple[Any, ...]) -> bool:
    mode = arguments[1]
    return isinstance(mode, str) and bool(set(mode) & set("wax+"))


sys.addaudithook(_watch)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("state")
    (folder / "mgp.toml").write_text(OURS)
    opened = Store(load(folder / "mgp.toml", environ={"GATEWRIGHT_STATE": str(folder)}))
    assert opened.get("any") is None  # whatever opening it takes is no work of a configuration
    return opened


_FLAWS: dict[str, str] = {}
"""By the whole table: most servers of a document are what they were before one was changed."""


def _flaw(table: Any) -> str:
    text = repr(table)
    if text not in _FLAWS:
        _FLAWS[text] = _flaw_of(table)
    return _FLAWS[text]


def _flaw_of(table: Any) -> str:
    try:
        draft = Draft(OURS, Path("mgp.toml"))
        add_servers(draft, [table])
        build([parse_ours(draft.text, draft.path)], {}, Path("/state"))
    except SettingsError as found:
        return found.problems[0].instead
    return ""


def _imported(content: bytes, store: Store) -> str:
    """Everything that the command would print and write. Anything but `CannotRead` is a crash."""
    global _watching
    _watching = True
    try:
        try:
            reading = read(content, Place(file="/h/x", workspace="/w", platform="linux"))
        except CannotRead as problem:
            return f"{problem} {problem.kind}"
        plan = make_plan([reading], Known(flaw=_flaw, secret=store.get))
        whole = document(plan, Path("/h/mgp.toml"), store, dry_run=True)
        told = [msgspec.json.encode(whole).decode(), repr(rows(plan)), *remarks(plan, store)]
        told += [repr(plan), repr(reading.servers)]
        draft = Draft(OURS, Path("mgp.toml"))
        comments = {one.id: comment(one) for one in plan.servers}
        add_servers(draft, [one.table for one in plan.servers], notes=comments)
    finally:
        _watching = False
    build([parse_ours(draft.text, draft.path)], {}, Path("/state"))
    return "\n".join([*told, draft.text])


def _check(content: bytes, store: Store, secrets: Sequence[str] = (FORMED, NAMED)) -> None:
    _acts.clear()
    told = _imported(content, store)
    for secret in secrets:
        assert secret not in told, told
    assert _acts == []


_TEXT = st.one_of(
    st.sampled_from(
        [
            FORMED,
            f"x={FORMED}",
            f"https://h.example/{FORMED}/mcp?token={NAMED}",
            f"postgres://u:{NAMED}@h/d",
            f"Bearer {FORMED}",
            f"${{A:-{FORMED}}}",
            f"${{{FORMED}}}",
            f"${{input:{FORMED}}}",
            f"{{{{x.{FORMED}}}}}",
            f"--api-key={NAMED}",
            "${cmd: touch /tmp/x}",
            "$(touch x)",
            "${A}${",
            "$$${B}",
            "{env:X}",
            "{file:/etc/passwd}",
            "${secret:other}",
            "stdio",
            "http",
            "sse",
            "https://h.example/mcp",
            "npx",
            "docker",
            "gatewright",
            "\ud800",
            "\0",
            "\x1b[31m",
            "\u202e",
            '"""',
            "'''\n[gateway]\nhost = 'x'",
            "mgp",
            "",
        ]
    ),
    st.text(max_size=12),
)
_KEYS = st.one_of(
    st.sampled_from(
        """command cmd args env environment envs env_vars env_keys url httpUrl serverUrl uri type transport
        headers http_headers env_http_headers requestOptions oauth auth bearer_token_env_var apiKey cwd
        envFile timeout enabled disabled tools includeTools excludeTools disabledTools autoApprove
        alwaysAllow trust title description sandbox protocolEra mgp restart_policy share schema
        default_policy name version id image secrets volumes remote config properties default packages
        remotes registryType registry_type identifier packageArguments package_arguments value variables
        isSecret is_secret environmentVariables server mcp_config user_config platform_overrides inputs
        servers mcpServers projects registry snapshot trust_level server_id extensions issuer bearer
        client_id scopes tool_prefix permissions_required call_timeout_s era
        TOKEN API_KEY PASSWORD Authorization""".split()
    ),
    st.sampled_from([FORMED, "a b", "", "__proto__", "\n[x]", "é"]),
)
_SECRET_PLACES = st.sampled_from(
    [
        {"env": {"TOKEN": NAMED, "DB_PASSWORD": NAMED}},
        {"headers": {"Authorization": f"Bearer {NAMED}", "X-Api-Key": NAMED}},
        {"args": ["--api-key", NAMED, f"--password={NAMED}", f"SECRET={NAMED}"]},
        {"url": f"https://u:{NAMED}@h.example/?token={NAMED}"},
        {"oauth": {"clientId": "c", "clientSecret": NAMED}, "apiKey": NAMED},
    ]
)
_LEAF = st.one_of(_TEXT, st.integers(), st.booleans(), st.none(), st.floats())
_TREE: st.SearchStrategy[Any] = st.recursive(
    st.one_of(_LEAF, _SECRET_PLACES),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_KEYS, inner, max_size=5)),
    max_leaves=12,
)
_ENTRY = st.builds(
    lambda base, more, secret: {**base, **more, **secret},
    st.sampled_from([{"command": "x"}, {"url": "https://h.example/mcp"}, {"image": "i"}, {}]),
    st.dictionaries(_KEYS, _TREE, max_size=5),
    st.one_of(st.just({}), _SECRET_PLACES),
)
_PLACES = """mcpServers servers context_servers mcp_servers mcp extensions amp.mcpServers registry
    projects packages remotes server""".split()
_BELOW = st.dictionaries(
    st.sampled_from(_PLACES),
    st.one_of(
        st.dictionaries(st.one_of(_KEYS, st.just("one")), _ENTRY, max_size=3),
        st.lists(_ENTRY, max_size=3),
        _TREE,
    ),
    min_size=1,
    max_size=2,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        yield from _paths(one, (*path, key))


_PATHS = [list(_paths(one)) for one in DOCUMENTS]


@st.composite
def _mutated(draw: st.DrawFn) -> Any:
    """A sample with up to three of its values replaced, removed or put under another key."""
    number = draw(st.integers(0, len(DOCUMENTS) - 1))
    found = json.loads(json.dumps(DOCUMENTS[number]))
    for path in draw(st.lists(st.sampled_from(_PATHS[number]), min_size=1, max_size=3)):
        _change(
            found, path, draw(_TREE), draw(st.sampled_from("set drop move".split())), draw(_KEYS)
        )
    return found


def _change(value: Any, path: tuple[Any, ...], new: Any, how: str, key: str) -> None:
    for step in path[:-1]:
        if not isinstance(value, dict | list) or (isinstance(value, dict) and step not in value):
            return
        if isinstance(value, list) and not (isinstance(step, int) and step < len(value)):
            return
        value = value[step]
    if isinstance(value, dict) and path and path[-1] in value:
        old = value.pop(path[-1])
        if how != "drop":
            value[key if how == "move" else path[-1]] = old if how == "move" else new


def _spelled(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=True).encode()


_QUICK: Callable[[int], settings] = lambda count: settings(  # noqa: E731 - one decorator, four counts
    max_examples=count,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("part", range(4))
@_QUICK(875)
@given(document=_mutated())
def test_samples_with_something_wrong_in_them_do_no_harm(
    part: int, document: Any, store: Store
) -> None:
    _check(_spelled(document), store)


@pytest.mark.parametrize("part", range(4))
@_QUICK(875)
@given(document=_BELOW)
def test_anything_below_a_known_key_does_no_harm(part: int, document: Any, store: Store) -> None:
    _check(_spelled(document), store)


@pytest.mark.parametrize("part", range(2))
@_QUICK(750)
@given(
    text=st.sampled_from(TEXTS),
    at=st.floats(0, 1),
    cut=st.integers(0, 40),
    put=st.one_of(
        _TEXT, st.sampled_from(["{", "}", "[", '"', "\n- ", "*a", "&a ", "#", "//", ","])
    ),
)
def test_texts_that_are_broken_anywhere_do_no_harm(
    part: int, text: str, at: float, cut: int, put: str, store: Store
) -> None:
    start = int(at * len(text))
    broken = text[:start] + put + text[start + cut :]
    # Whose line is broken, or what is put into the middle of another word, may not be known for a secret by what
    # stands around it.
    lines = text[text.rfind("\n", 0, start) + 1 : text.find("\n", start + cut)]
    secrets = (FORMED,) if NAMED in lines + put else (FORMED, NAMED)
    _check(broken.encode(errors="surrogatepass"), store, secrets)


@pytest.mark.parametrize("part", range(2))
@_QUICK(750)
@given(
    content=st.one_of(st.binary(max_size=200), st.binary(max_size=60).map(b"PK\x03\x04".__add__))
)
def test_bytes_of_any_kind_do_no_harm(part: int, content: bytes, store: Store) -> None:
    _check(content, store)


SEEN = f"{FORMED}\u202e\x1b[2J"
"""A name that is a secret by its form, with what would repaint a screen behind it."""
_WRONG: list[Any] = [
    SEEN,
    [SEEN],
    [[SEEN]],
    {SEEN: SEEN},
    {SEEN: [SEEN]},
    [{SEEN: {SEEN: 1}}],
    1e400,
]


_TURNS = turns(_PATHS, _WRONG)


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
def test_no_message_repeats_a_secret_that_stands_as_a_name_or_in_a_wrong_place(
    number: int, store: Store
) -> None:
    """Every member of every known format, renamed and replaced. Where a name is met for the first time with each wrong value,
    and renamed with two of them; wherever it stands besides, with one, in turn."""
    found = json.loads(json.dumps(DOCUMENTS[number]))
    for path, plain, both in _TURNS[number]:
        named = renamed(found, path, SEEN)
        changed = [named, *(replaced(found, path, wrong) for wrong in plain)]
        if isinstance(path[-1], str):
            changed += [replaced(named, (*path[:-1], SEEN), wrong) for wrong in both]
        for one in changed:
            told = _told(_spelled(one), store)
            assert FORMED not in told, (path, told)
            assert "\u202e" not in told, (path, told)


def test_each_name_is_met_with_each_wrong_value_and_each_place_with_one() -> None:
    every = [turn for turns in _TURNS for turn in turns]
    assert len(every) == sum(len([path for path in paths if path]) for paths in _PATHS)
    met = {(str(path[-1]), repr(wrong)) for path, plain, _ in every for wrong in plain}
    names = {str(path[-1]) for path, _, _ in every if isinstance(path[-1], str)}
    assert {(name, repr(wrong)) for name in names for wrong in _WRONG} <= met
    assert all(plain for _, plain, _ in every)


def _told(content: bytes, store: Store) -> str:
    """What is said beside the rows, for people and programs."""
    try:
        reading = read(content, Place(file="/h/x", workspace="/w", platform="linux"))
    except CannotRead as problem:
        return str(problem)
    plan = make_plan([reading], Known(flaw=_flaw, secret=store.get, permits=lambda *_: True))
    notes = [f"{one.server} {one.key} {one.what} {one.instead}" for one in plan.notes]
    return "\n".join([*notes, *remarks(plan, store)])


def test_all_parts_together_are_ten_thousand() -> None:
    found = re.findall(r"range\((\d)\)\)\n@_QUICK\((\d+)\)", Path(__file__).read_text())
    assert sum(int(parts) * int(count) for parts, count in found) == 10_000


def test_the_watch_sees_what_it_is_there_for(tmp_path: Path) -> None:
    global _watching
    _acts.clear()
    _watching = True
    try:
        (tmp_path / "a").write_text("x")
    finally:
        _watching = False
    assert _acts == ["open"]


def test_the_canaries_would_be_seen_where_nothing_guards_them() -> None:
    text = _spelled({"mcpServers": {"a": {"command": "x", "env": {"TOKEN": NAMED, "B": FORMED}}}})
    (server,) = read(text).servers
    assert list(server.env.values()) == [NAMED, FORMED]
