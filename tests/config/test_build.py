"""From files to settings: merging, rules across tables, and whatever a hostile file contains."""

import math
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatewright.config import Origin, Profile, Settings, SettingsError, is_loopback, override
from gatewright.config.build import build
from gatewright.config.documents import Document, parse

FILE = Path("/project/mgp.toml")
USER = Path("/home/somebody/servers.toml")
STATE = Path("/state")
SERVER = '[[servers]]\nid = "one"\ncommand = "x"\n'


def settings(text: str, user: str = "") -> Settings:
    return build([parse(text, FILE), parse(user, USER)], {}, STATE)


def problems(text: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        settings(text)
    return [str(problem) for problem in caught.value.problems]


def test_in_plain_tables_the_higher_file_decides_key_by_key() -> None:
    found = settings(
        "[gateway]\nport = 1\n[limits]\nbatch = 7\n",
        '[gateway]\nport = 2\nname = "n"\n[limits]\nkeys = 9\n[audit]\nsync = "always"\n',
    )
    assert (found.gateway.port, found.gateway.name) == (1, "n")
    assert (found.limits.batch, found.limits.keys, found.audit.sync) == (7, 9, "always")
    assert found.origins["gateway.port"] == Origin(FILE, 2)
    assert found.origins["gateway.name"] == Origin(USER, 3)
    assert "gateway.host" not in found.origins


def test_profiles_are_merged_by_name_and_grants_add_up() -> None:
    grant = '[[grants]]\nagent = "{}"\nserver = "one"\n'
    found = settings(
        SERVER + grant.format("a") + '[profiles.p]\ntools = ["one/x"]\n',
        grant.format("b") + '[profiles.p]\ntools = ["one/y"]\n[profiles.q]\n',
    )
    assert [one.agent for one in found.grants] == ["a", "b"]
    assert found.profiles == {"p": Profile(tools=("one/x",)), "q": Profile()}


def test_every_problem_of_every_file_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        settings('[gateway]\nport = "x"\nname = ""\n', '[audit]\nsync = "never"\n')
    assert [(one.origin, one.key) for one in caught.value.problems] == [
        (Origin(FILE, 2), "gateway.port"),
        (Origin(FILE, 3), "gateway.name"),
        (Origin(USER, 2), "audit.sync"),
    ]


def test_unknown_keys_and_tables_are_warnings() -> None:
    """MGP-15.2-5"""
    found = settings(
        "[gateway]\nprot = 1\n[elsewhere]\nx = 1\n"
        + SERVER
        + "autoApprove = []\n[servers.mgp]\nz = 1\n"
    )
    assert [str(one) for one in found.warnings] == [
        f"{FILE}:2: gateway.prot: this key is not known and has no effect; did you mean port?",
        f"{FILE}:3: elsewhere: this table is not known and has no effect; remove it, or check the spelling",
        (
            f"{FILE}:8: servers.one.autoApprove: this key is not known and has no effect; "
            "remove it, or check the spelling"
        ),
        (
            f"{FILE}:10: servers.one.mgp.z: this key is not known and has no effect; "
            "remove it, or check the spelling"
        ),
    ]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_callers_without_a_key_are_let_in_on_loopback_only(host: str) -> None:
    (problem,) = problems(f'[gateway]\nhost = "{host}"\nanonymous = "allow"\n')
    assert problem.startswith(f"{FILE}:3: gateway.anonymous: callers without a key")
    assert 'write anonymous = "deny"' in problem
    assert settings(f'[gateway]\nhost = "{host}"\n').gateway.host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_addresses_are_known(host: str) -> None:
    assert is_loopback(host)
    assert settings(f'[gateway]\nhost = "{host}"\nanonymous = "allow"\n').gateway.host == host


def test_the_command_line_goes_over_the_file_and_is_held_to_the_same_rule() -> None:
    found = settings('[gateway]\nanonymous = "allow"\n')
    assert override(found, port=0).gateway.port == 0
    assert override(found).gateway == found.gateway
    with pytest.raises(SettingsError, match="callers without a key"):
        override(found, host="0.0.0.0")


def test_only_one_server_can_go_without_a_prefix() -> None:
    two = SERVER + SERVER.replace("one", "two")
    assert settings("[gateway]\nunprefixed = true\n" + SERVER).gateway.unprefixed
    assert len(settings("[gateway]\nunprefixed = true\n" + two + "enabled = false\n").servers) == 2
    (problem,) = problems("[gateway]\nunprefixed = true\n" + two)
    assert problem.startswith(f"{FILE}:2: gateway.unprefixed: 2 servers cannot all go")
    (problem,) = problems(two + "[profiles.p]\nunprefixed = true\n")
    assert problem.startswith(f"{FILE}:8: profiles.p.unprefixed: 2 servers cannot all go")
    alone = settings(two + '[profiles.p]\nunprefixed = true\nservers = ["one"]\n')
    assert alone.profiles["p"] == Profile(servers=("one",), unprefixed=True)


def test_two_servers_of_one_file_cannot_share_an_id() -> None:
    (problem,) = problems(SERVER + SERVER)
    assert problem == (
        f"{FILE}:5: servers.one.id: line 1 has a server of this id; choose another id"
    )


def test_grants_and_profiles_for_a_server_nobody_has_are_warnings() -> None:
    found = settings(
        SERVER + '[[grants]]\nagent = "a"\nserver = "oen"\n[profiles.p]\nservers = ["x"]\n'
    )
    assert [str(one) for one in found.warnings] == [
        f'{FILE}:4: grants.a: "oen": no server has this id, so it has no effect; write one of one',
        (
            f'{FILE}:8: profiles.p.servers: "x": no server has this id, so it has no effect; '
            "write one of one"
        ),
    ]


def test_a_relative_storage_path_starts_at_the_file_that_says_it() -> None:
    assert settings('[storage]\npath = "state"\n').storage.path == Path("/project/state")
    assert settings("", '[storage]\npath = "s"\n').storage.path == Path("/home/somebody/s")
    assert settings('[storage]\npath = "/s"\n').storage.path == Path("/s")


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        settings("").gateway.port = 1  # type: ignore[misc]


_scalars = st.one_of(
    st.text(max_size=12),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.datetimes(timezones=st.one_of(st.none(), st.just(UTC))),
    st.dates(),
    st.times(),
    st.sampled_from(["${X}", "${", "~", "~nobody/x", "http://[", "*", "stdio", "a\0b", "x" * 5000]),
)
_words = st.sampled_from(
    "gateway storage limits audit servers grants profiles id command args url env headers tools mgp "
    "agent server permissions permissions_required restart_policy expires_at port host path "
    "transport cwd trust_level unprefixed anonymous".split()
)
_keys = st.one_of(_words, st.text(max_size=6))
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=12,
)
_server = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", "mgp", ""]), "command": st.sampled_from(["x", "${X}"])},
    optional={
        "mgp": _values,
        "env": _values,
        "url": _scalars,
        "tools": _values,
        "cwd": _scalars,
        "headers": _values,
        "args": _values,
        "transport": _scalars,
    },
)
_files = st.dictionaries(_keys, _values, max_size=5) | st.fixed_dictionaries(
    {"servers": st.lists(_server | _values, max_size=3)},
    optional={"grants": _values, "profiles": _values, "gateway": _values},
)


@given(_files, _files)
@example({"limits": {"call_timeout_s": math.inf}}, {"grants": [{"expires_at": date(2030, 1, 1)}]})
@example({"servers": [{"id": "a", "command": time(1), "cwd": "~nobody-here/x"}]}, {"servers": {}})
@example({"servers": [{"id": "a", "command": "x", "cwd": "~nobody-here/x"}]}, {})
@example(
    {"grants": [{"agent": "a", "server": "b", "expires_at": datetime(2030, 1, 1)}]},  # noqa: DTZ001
    {},
)
def test_no_file_breaks_the_reader(first: dict[str, Any], second: dict[str, Any]) -> None:
    documents = [Document(FILE, first, {}), Document(USER, second, {})]
    try:
        found = build(documents, {"X": "value"}, STATE)
    except SettingsError:
        return
    assert found.storage.path.is_absolute()
    for server in found.servers:
        assert server.problem is not None or server.command or server.url


def test_a_sink_without_its_place_and_a_name_that_stands_twice_are_refused() -> None:
    sink = '[[audit.sinks]]\nname = "one"\ntype = "http"\n'
    with pytest.raises(SettingsError) as caught:
        settings(sink + 'url = "http://127.0.0.1:9/"\n' + sink)
    said = str(caught.value)
    assert "the name one stands twice" in said
    assert "the http sink one has no url" in said


@pytest.mark.parametrize(
    "project",
    [
        'audit = { sinks = [{ name = "s", type = "http", url = "http://p" }] }',
        '[audit]\nsinks = [{ name = "s", type = "http", url = "http://p" }]',
        '[[audit.sinks]]\nname = "s"\ntype = "http"\nurl = "http://p"',
    ],
)
def test_a_table_is_of_the_file_that_is_in_force_for_it(project: str) -> None:
    """Its `${secret:NAME}` is allowed to that file, and its `${file:PATH}` stands beside it."""
    user = '[audit]\n[[audit.sinks]]\nname = "u"\ntype = "http"\nurl = "http://u"\n'
    documents = [parse(project, Path("/p/mgp.toml")), parse(user, Path("/u/servers.toml"))]
    found = build(documents, {}, Path("/state"))
    assert [one.url for one in found.audit.sinks] == ["http://p"]
    assert found.file_of("audit.sinks") == Path("/p/mgp.toml")
    assert found.file_of("audit.sinks.s.url") == Path("/p/mgp.toml")
    below = build([documents[0], parse("[limits]\ndepth = 3", Path("/u"))], {}, Path("/state"))
    assert below.file_of("limits.depth") == Path("/u")


def test_a_root_in_the_home_of_nobody_is_told_with_its_line(tmp_path: Path) -> None:
    document = parse(
        '[builtin.directory_list]\nroots = ["~nobody-of-this-name/x"]\n', tmp_path / "mgp.toml"
    )
    with pytest.raises(
        SettingsError, match=r"mgp\.toml:2: builtin\.directory_list\.roots: ~ cannot be resolved"
    ):
        build([document], {}, tmp_path)
