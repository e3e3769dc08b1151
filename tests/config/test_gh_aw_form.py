"""The JSON form that a program hands over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from gatewright.config.gh_aw_form import is_form, read_form
from gatewright.config.lookup import STDIN, given
from gatewright.config.model import Form
from gatewright.config.problems import SettingsError

GATEWAY = {"port": 8080, "domain": "localhost", "apiKey": "${KEY}"}
VARIABLES = {"KEY": "hunter2", "HOME": "/nowhere", "GATEWRIGHT_STATE": "/state"}


def form(**servers: Any) -> dict[str, Any]:
    return {"mcpServers": servers, "gateway": GATEWAY}


def problems(data: Any) -> dict[str, str]:
    """Key → what to write instead, of everything that is refused."""
    with pytest.raises(SettingsError) as caught:
        given(json.dumps(data).encode(), VARIABLES)
    return {one.key: one.instead for one in caught.value.problems}


def test_a_container_is_started_with_what_the_form_says_and_nothing_of_env_in_its_arguments() -> (
    None
):
    server = {
        "container": "image:1",
        "args": ["--network", "none"],
        "entrypoint": "/bin/run",
        "entrypointArgs": ["--stdio"],
        "mounts": ["/data:/data:ro"],
        "env": {"TOKEN": "${KEY}", "HOME": ""},
    }
    found = given(json.dumps(form(a=server)).encode(), VARIABLES)
    (ours,) = found.servers
    assert (ours.command, *ours.args) == (
        *("docker", "run", "--rm", "-i", "-e", "TOKEN", "-e", "HOME", "-v", "/data:/data:ro"),
        *("--entrypoint", "/bin/run", "--network", "none", "image:1", "--stdio"),
    )
    assert ours.env == {"TOKEN": "hunter2", "HOME": "/nowhere"}
    assert (ours.default_policy, found.gateway.port) == ("opt-out", 8080)
    assert found.gateway.anonymous == "deny"


def test_each_server_has_an_endpoint_with_its_own_names_and_the_tools_that_were_chosen() -> None:
    web = {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"X": "y"}, "tools": ["t"]}
    every = {**web, "tools": ["*"]}
    found = given(json.dumps(form(a=web, b=every)).encode(), VARIABLES)
    assert {
        name: (one.servers, one.tools, one.unprefixed) for name, one in found.profiles.items()
    } == {
        "a": (("a",), ("a/t",), True),
        "b": (("b",), (), True),
    }
    assert found.servers[0].headers == {"X": "y"}


def test_times_are_taken_over() -> None:
    data = form(a={"container": "i", "toolTimeout": 5}, b={"container": "i", "connectTimeout": 7})
    data["gateway"] = {**GATEWAY, "startupTimeout": 9, "toolTimeout": 11}
    found = given(json.dumps(data).encode(), VARIABLES)
    assert found.limits.call_timeout_s == 11
    assert [(one.call_timeout_s, one.connect_timeout_s) for one in found.servers] == [
        (5, 9),
        (None, 7),
    ]


def test_domain_and_key_are_known_beside_and_the_key_is_in_no_repr() -> None:
    found = given(json.dumps(form()).encode(), VARIABLES)
    assert found.form == Form(domain="localhost", key="hunter2")
    assert found.gateway.allowed_hosts == ("localhost",)
    assert "hunter2" not in repr(found)


def test_what_is_not_known_or_missing_is_refused_with_its_place() -> None:
    assert problems({**form(), "mcpServer": {}}) == {"mcpServer": "did you mean mcpServers?"}
    assert set(problems({"mcpServers": {}})) == {"gateway", "gateway.domain", "gateway.apiKey"}
    wrong = {
        "a b": {"container": "i"},
        "b": {"command": "sh"},
        "c": {"container": "i", "mounts": ["relative:/x:ro"]},
        "d": {"type": "pigeon"},
        "e": {"container": "i", "entrypointArgs": "x"},
        "f": [],
        "g": {"type": "http"},
        "h": {"container": "i", "evn": {}},
    }
    assert {key.removeprefix("mcpServers.") for key in problems(form(**wrong))} == {
        *("a b", "b.command", "b.container", "c.mounts", "d.type", "d.container"),
        *("e.entrypointArgs", "f", "f.container", "g.url", "h.evn"),
    }


def test_an_undefined_variable_ends_the_start() -> None:
    assert set(problems(form(a={"container": "i", "env": {"X": "${NONE}"}}))) == {"servers.a.env.X"}
    data = {**form(), "gateway": {**GATEWAY, "apiKey": "${NONE}"}}
    assert set(problems(data)) == {"gateway.apiKey"}


def test_toml_is_read_as_strictly() -> None:
    found = given(b'[[servers]]\nid = "a"\ncommand = "x"\nnovel = 1\n', VARIABLES)
    assert ([one.id for one in found.servers], found.form) == (["a"], None)
    with pytest.raises(SettingsError, match=r"gatway.*did you mean gateway"):
        given(b"[gatway]\n", VARIABLES)
    with pytest.raises(SettingsError, match="NONE is not set"):
        given(b'[[servers]]\nid = "a"\ncommand = "${NONE}"\n', VARIABLES)
    with pytest.raises(SettingsError, match="UTF-8"):
        given(b"\xff", VARIABLES)
    with pytest.raises(SettingsError, match="more than"):
        given(b"#" * 2**20 + b"#", VARIABLES)


def test_json_is_told_from_toml() -> None:
    assert [is_form(text) for text in ("", " \n{}", "a = {}", "[a]")] == [False, True, False, False]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "mcpServers gateway type container env mounts url tools args port domain apiKey x".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@for_all(st.dictionaries(st.sampled_from(["mcpServers", "gateway", "x"]), _JSON))
def test_no_form_breaks_the_reader(data: Any) -> None:
    try:
        found = given(json.dumps(data).encode(), VARIABLES)
    except SettingsError:
        return
    assert found.form is not None


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(SettingsError, match="not JSON"):
        read_form('{"a": ', STDIN)
    assert Path("-") == STDIN
