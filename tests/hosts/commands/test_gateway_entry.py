"""What a host is told about the gateway: a URL where one will do, a bridge where it would need a key."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatewright.cli.errors import CliError
from gatewright.cli.running import Running
from gatewright.config import Settings, load
from gatewright.hosts.commands import gateway_entry
from gatewright.hosts.commands.gateway_entry import Wish, check_name, tell
from gatewright.hosts.host_table import HOSTS, Host

PROGRAM = str(Path(sys.executable).with_name("gatewright"))
URL = "http://127.0.0.1:8420/mcp"
CURSOR = HOSTS["cursor"]


@pytest.fixture(autouse=True)
def _no_state_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GATEWRIGHT_STATE", raising=False)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Defaults, with a state folder of their own."""
    config = tmp_path / "mgp.toml"
    config.write_text(f'[storage]\npath = "{tmp_path / "state"}"\n[profiles.dev]\n')
    return msgspec.structs.replace(load(config), files=())


def allowing(settings: Settings, **changes: Any) -> Settings:
    gateway = msgspec.structs.replace(settings.gateway, anonymous="allow", **changes)
    return msgspec.structs.replace(settings, gateway=gateway)


def wish(**more: Any) -> Wish:
    return Wish(name="gatewright", **more)


def test_where_a_key_is_wanted_the_host_starts_a_bridge(settings: Settings) -> None:
    told = tell(CURSOR, wish(), settings)
    assert (told.way, told.entry) == (
        "bridge",
        {"command": PROGRAM, "args": ["bridge", "--as", "cursor"]},
    )
    assert "gatewright key create" in told.remarks[0]
    assert tell(HOSTS["claude-desktop"], wish(), settings).remarks == ()
    assert tell(CURSOR, wish(stdio=True), settings).remarks == ()


def test_where_none_is_wanted_it_gets_the_url(settings: Settings) -> None:
    told = tell(CURSOR, wish(), allowing(settings))
    assert (told.way, told.entry) == ("http", {"url": URL})
    (remark,) = told.remarks
    assert "comes as `anonymous`" in remark
    assert "`gatewright connect cursor --stdio`" in remark
    assert "`gatewright key create cursor`" in remark
    assert tell(CURSOR, wish(stdio=True), allowing(settings)).way == "bridge"
    assert tell(HOSTS["claude-desktop"], wish(), allowing(settings)).way == "bridge"
    assert tell(CURSOR, wish(), allowing(settings, port=0)).way == "bridge"


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", URL), ("::", "http://[::1]:8420/mcp"), ("gw.local", "http://gw.local:8420/mcp")],
)
def test_a_url_is_one_that_can_be_reached(settings: Settings, host: str, url: str) -> None:
    assert tell(CURSOR, wish(), allowing(settings, host=host)).entry == {"url": url}


def test_a_key_goes_into_the_entry_or_is_named(settings: Settings) -> None:
    entry = tell(CURSOR, wish(key="gw_1"), settings).entry
    assert entry == {"url": URL, "headers": {"Authorization": "Bearer gw_1"}}
    told = tell(CURSOR, wish(key_env="TOKEN"), settings)
    assert told.entry == {"url": URL, "headers": {"Authorization": "Bearer ${env:TOKEN}"}}
    assert told.remarks == ("set TOKEN in the environment of the host",)
    bridge = tell(HOSTS["claude-desktop"], wish(key="gw_1"), settings).entry
    assert bridge["env"] == {"GATEWRIGHT_KEY": "gw_1"}
    assert "gw_1" not in repr(wish(key="gw_1"))


def test_every_host_is_an_agent_of_its_own_unless_a_key_says_who_it_is(settings: Settings) -> None:
    for host in HOSTS.values():
        assert f"--as', '{host.id}'" in str(tell(host, wish(stdio=True), settings).entry)
        for keyed in (wish(stdio=True, key="gw_1"), wish(stdio=True, url="https://gw.example/mcp")):
            assert "--as" not in str(tell(host, keyed, settings).entry)


def test_a_gateway_elsewhere_is_named_by_its_url(settings: Settings) -> None:
    url = "https://gw.example/mcp"
    told = tell(CURSOR, wish(url=url, profile="any"), settings)
    assert told.entry == {"url": f"{url}/any"}
    assert "--key" in told.remarks[0]
    bridge = tell(CURSOR, wish(url=url, stdio=True, profile="any"), settings)
    assert bridge.entry["args"] == ["bridge", "--profile", "any", "--url", url]


def test_a_profile_leaves_the_query_of_a_url_where_it_is(settings: Settings) -> None:
    url = "https://proxy.example/mcp?tenant=a"
    told = tell(CURSOR, wish(url=url, profile="any"), settings)
    assert told.entry == {"url": "https://proxy.example/mcp/any?tenant=a"}


def test_a_profile_is_part_of_the_way(settings: Settings) -> None:
    assert tell(CURSOR, wish(profile="dev"), allowing(settings)).entry == {"url": f"{URL}/dev"}
    assert tell(CURSOR, wish(profile="dev"), settings).entry["args"] == [
        *("bridge", "--as", "cursor"),
        *("--profile", "dev"),
    ]


def test_a_bridge_is_told_which_configuration_it_is(tmp_path: Path, settings: Settings) -> None:
    config = tmp_path / "mgp.toml"
    entry = tell(CURSOR, wish(), load(config)).entry
    assert entry == {
        "command": PROGRAM,
        "args": ["bridge", "--as", "cursor", "--config", str(config)],
    }
    moved = msgspec.structs.replace(
        load(config), storage=msgspec.structs.replace(settings.storage, path=tmp_path / "elsewhere")
    )
    entry = tell(CURSOR, wish(), moved).entry
    assert entry["env"] == {"GATEWRIGHT_STATE": str(tmp_path / "elsewhere")}


def test_a_bridge_is_told_of_a_state_folder_that_was_named(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWRIGHT_STATE", str(tmp_path / "named"))
    entry = tell(CURSOR, wish(), load(tmp_path / "mgp.toml")).entry
    assert entry["env"] == {"GATEWRIGHT_STATE": str(tmp_path / "named")}


@pytest.mark.parametrize(
    ("wished", "what"),
    [
        ({"profile": "none"}, "no profile 'none'"),
        ({"url": "ftp://x"}, "no URL of a gateway"),
        ({"key": "k", "project": True}, "a project's file is shared"),
        ({"key": "k", "project": True, "stdio": True}, "a project's file is shared"),
        ({"key_env": "K", "stdio": True}, "reads its key from GATEWRIGHT_KEY"),
    ],
)
def test_what_cannot_be_is_said_with_what_can(
    settings: Settings, wished: dict[str, Any], what: str
) -> None:
    with pytest.raises(CliError, match=what) as problem:
        tell(CURSOR, wish(**wished), settings)
    assert problem.value.hint


def test_a_host_that_takes_no_variable_is_told_apart(settings: Settings) -> None:
    with pytest.raises(CliError, match="Zed takes no environment variable") as problem:
        tell(HOSTS["zed"], wish(key_env="K"), settings)
    assert "codex" in problem.value.hint


@pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.id)
@pytest.mark.parametrize("way", [{}, {"stdio": True}, {"url": "https://gw.example/mcp"}])
def test_no_key_is_written_into_a_projects_file(
    settings: Settings, host: Host, way: dict[str, Any]
) -> None:
    """Whichever way the host comes by: some have no URLs."""
    with pytest.raises(CliError, match="a project's file is shared"):
        tell(host, wish(key="gw_1", project=True, **way), settings)


def test_a_free_port_is_not_written_into_a_file(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = allowing(settings, port=0)
    for keyed in ({"key": "k"}, {"key_env": "K"}):
        with pytest.raises(CliError, match="a free port at every start"):
            tell(CURSOR, wish(**keyed), free)
    running = Running("http://127.0.0.1:40123/mcp", 1, "", "", "")
    monkeypatch.setattr(gateway_entry, "read_running", lambda _: running)
    with pytest.raises(CliError, match="a free port at every start"):
        tell(CURSOR, wish(key="k"), free)
    assert tell(CURSOR, wish(key="k"), settings).entry["url"] == "http://127.0.0.1:40123/mcp"


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "a/b", "ä", "a" * 65])
def test_names_are_of_letters_digits_and_dashes(name: str) -> None:
    with pytest.raises(CliError, match="is no name for an entry"):
        check_name(CURSOR, name)


def test_a_name_leaves_room_for_the_names_of_tools() -> None:
    check_name(CURSOR, "a" * 14)
    with pytest.raises(CliError, match="leaves 45 characters") as problem:
        check_name(CURSOR, "a" * 15)
    assert "at most 14" in problem.value.hint
    for host in HOSTS.values():
        check_name(host, "gatewright")


@pytest.mark.parametrize(
    "url", ["http://[x", "http://", "ftp://a", "http://a:port/mcp", "http://a:0/mcp"]
)
def test_a_url_that_leads_nowhere_is_a_wrong_word(settings: Settings, url: str) -> None:
    with pytest.raises(CliError, match="is no URL of a gateway"):
        tell(CURSOR, wish(url=url), settings)
