"""From every format to the servers that the gateway has in the end: what a host would have started and sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatewright.config import load
from gatewright.config.edit import add_servers, editing
from gatewright.config.secrets import open_secrets
from gatewright.hosts.model import Server
from gatewright.hosts.plan import Known, Plan, make_plan
from gatewright.hosts.read import Place, read
from tests.accepting import allow_secret
from tests.hosts.host_samples import SAMPLES
from tests.hosts.more_samples import BUNDLES, MORE_SAMPLES
from tests.hosts.sample import SECRETS, Sample

ALL = {**SAMPLES, **MORE_SAMPLES}
_NAMES = (
    "API_KEY SITE OAUTH_SECRET TEAM REGION DB_URL DB_NAME LOCAL_TOKEN OTHER FIGMA_TOKEN MY_VALUE "
    "JIRA_KEY GITHUB_PERSONAL_ACCESS_TOKEN G_TOKEN ORG WHO STATION SOURCE_PATH TENANT GITHUB_FOLDER "
    "DATA_ROOT"
)
_SECRET_NAMES = (
    "perplexity-key SQLITE_KEY C_KEY weather.WEATHER_API_KEY hybrid.token "
    "github.personal_access_token"
)


def _variables(state: Path) -> dict[str, str]:
    values = {name: f"value-of-{name}" for name in _NAMES.split()}
    values |= {"HOME": "/home/me", "XDG_STATE_HOME": str(state.parent / "state-home")}
    return {**values, "GATEWRIGHT_STATE": str(state)}


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """What a text of ours comes to: written once more, so that one check does not lean on the other."""

    def value(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        name, _, default = found[1].partition(":-")
        if name.startswith("secret:"):
            return f"kept-{name.removeprefix('secret:')}"
        return variables.get(name) or default

    return re.sub(r"\$\$\{|\$\{([^}]*)\}", value, text)


def _meant(server: Server, variables: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """The effective server that a normal form stands for."""

    def text(value: str) -> str:
        return _expanded(value, variables)

    bearer = server.auth.bearer if server.auth is not None else ""
    return {
        "id": server.id,
        "transport": server.transport,
        "command": text(server.command),
        "args": tuple(map(text, server.args)),
        "cwd": Path(text(server.cwd)) if server.cwd else folder,
        "env": {name: text(value) for name, value in server.env.items()},
        "url": text(server.url),
        "headers": {name: text(value) for name, value in server.headers.items()},
        "bearer": text(bearer),
        "enabled": server.enabled,
        "era": server.era,
        "call_timeout_s": server.timeouts.call_s,
        "connect_timeout_s": server.timeouts.connect_s or 20.0,
        "off": sorted(server.tools.exclude),
        "on": sorted(set(server.tools.include or ()) - set(server.tools.exclude)),
        "others": server.tools.include is None,
        "mgp": server.mgp is not None,
    }


def _effective(server: Any) -> dict[str, Any]:
    """The same of a server that the gateway has read."""
    rules = {name: rule for name, rule in server.tools.items() if name != "*"}
    bare = all(rule.confirmation_required is None for rule in rules.values())
    return {
        "id": server.id,
        "transport": server.transport,
        "command": server.command,
        "args": server.args,
        "cwd": server.cwd,
        "env": dict(server.env),
        "url": server.url,
        "headers": dict(server.headers),
        "bearer": server.auth.bearer,
        "enabled": server.enabled,
        "era": server.era,
        "call_timeout_s": server.call_timeout_s,
        "connect_timeout_s": server.connect_timeout_s,
        "off": sorted(name for name, rule in rules.items() if not rule.enabled),
        "on": sorted(name for name, rule in rules.items() if rule.enabled and bare),
        "others": "*" not in server.tools or server.tools["*"].enabled,
        "mgp": server.mgp is not None,
    }


def _import(sample: Sample, path: Path, state: Path) -> Plan:
    """What the command does, without the command."""
    place = Place(host=sample.host, workspace=sample.workspace, platform="linux", bundles=BUNDLES)
    plan = make_plan([read(sample.text.encode(), place)], Known(folder=str(path.parent.absolute())))
    secrets = open_secrets(state, "file")
    kept = {name: f"kept-{name}" for name in _SECRET_NAMES.split()} | {**plan.secrets}
    for name, value in kept.items():
        allow_secret(name, path, state, _variables(state))
        secrets.put(name, value)
    with editing(path, new="", environ={}) as draft:
        add_servers(draft, [one.table for one in plan.servers])
    return plan


@pytest.mark.parametrize("name", ALL)
def test_imported_servers_are_in_effect_what_they_were_there(name: str, tmp_path: Path) -> None:
    """MGP-15.2-2: the file that is written loads, with the values that were meant."""
    path, state = tmp_path / "mgp.toml", tmp_path / "state"
    _import(ALL[name], path, state)
    variables = _variables(state)
    settings = load(path, environ=variables)
    assert [one.problem for one in settings.servers if one.problem is not None] == []
    assert [_effective(one) for one in settings.servers] == [
        _meant(one, variables, tmp_path.absolute()) for one in ALL[name].servers
    ]


@pytest.mark.parametrize("name", ALL)
def test_no_secret_of_a_sample_stands_in_the_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mgp.toml"
    plan = _import(ALL[name], path, tmp_path / "state")
    held = [secret for secret in SECRETS if secret in path.read_text()]
    assert held == []
    there = [secret for secret in SECRETS if secret in ALL[name].text]
    assert sorted(plan.secrets.values()) == sorted(there)


def test_a_file_that_was_written_is_read_back_as_the_same_servers(tmp_path: Path) -> None:
    path = tmp_path / "mgp.toml"
    plan = _import(SAMPLES["claude-code"], path, tmp_path / "state")
    again = read(path.read_bytes(), Place(file=str(path)))
    assert [one.id for one in again.servers] == [one.id for one in plan.servers]
    second = make_plan([again], Known(tables={one.id: one.table for one in plan.servers}))
    assert (second.servers, second.secrets) == ((), {})
    skipped = [note.server for note in second.notes if note.level == "skipped"]
    assert skipped == [one.id for one in plan.servers]


def test_the_grants_of_another_file_are_not_taken_over(tmp_path: Path) -> None:
    """Decision: trust and confirmation are suggested, never granted."""
    path = tmp_path / "mgp.toml"
    _import(MORE_SAMPLES["mgp"], path, tmp_path / "state")
    settings = load(path, environ=_variables(tmp_path / "state"))
    assert settings.grants == ()
    assert {one.default_policy for one in settings.servers} == {"opt-in"}
    trust = [None if one.mgp is None else one.mgp.trust_level for one in settings.servers]
    assert trust == ["standard", None, "standard"]
    rule = msgspec.to_builtins(settings.servers[0].tools["write_file"])
    assert (rule["confirmation_required"], rule["risk_level"]) == (True, None)
