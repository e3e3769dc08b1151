"""What differs between two configurations, by key; what needs a restart; what must not be together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from gatewright.config import Server, Settings, SettingsError, load
from gatewright.config import changes as applied
from gatewright.config.changes import changes, pinned, policy_version, versions

BASE = """
[gateway]
host = "127.0.0.1"
[[servers]]
id = "files"
command = "run"
env = { TOKEN = "one", PLACE = "here" }
[servers.tools.wipe]
risk_level = "dangerous"
[[grants]]
agent = "ann"
server = "files"
tool = "read"
[profiles.small]
servers = ["files"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def settings(folder: Path, text: str) -> Settings:
    path = folder / "mgp.toml"
    path.write_text(f'[storage]\npath = "{folder}/state"\n{text}')
    return load(path, environ={"HOME": str(folder)})


@pytest.mark.parametrize(
    ("old", "new", "applied"),
    [
        ('TOKEN = "one"', 'TOKEN = "two"', ("servers.files.env.TOKEN",)),
        (', PLACE = "here"', "", ("servers.files.env.PLACE",)),
        ('"dangerous"', '"safe"', ("servers.files.tools.wipe.risk_level",)),
        ('agent = "ann"', 'agent = "bob"', ("grants.ann files/read", "grants.bob files/read")),
        ('tool = "read"', 'tool = "read"\npermission = "deny"', ("grants.ann files/read",)),
        ('["files"]', "[]", ("profiles.small.servers",)),
        ("[gateway]", "[limits]\ncalls_per_minute = 9\n[gateway]", ("limits.calls_per_minute",)),
        ("[gateway]", '[gateway]\nanonymous = "allow"', ("gateway.anonymous",)),
        ("[gateway]", "# only another line\n\n[gateway]", ()),
    ],
)
def test_what_changed_is_named_by_its_key(
    folder: Path, old: str, new: str, applied: tuple[str, ...]
) -> None:
    before = settings(folder, BASE)
    found = changes(before, settings(folder, BASE.replace(old, new)))
    assert (found.applied, found.waiting) == (applied, ())
    assert bool(found) == bool(applied)


def test_what_comes_or_goes_is_one_key_and_order_counts(folder: Path) -> None:
    web = '[[servers]]\nid = "files.web"\nurl = "http://127.0.0.1:1/mcp"\n'
    one, more = settings(folder, BASE), settings(folder, BASE + web + "[profiles.b]\n")
    for found in (changes(one, more), changes(more, one)):
        assert found.applied == ("profiles.b", "servers.files.web")
    turned = settings(folder, web + BASE + "[profiles.b]\n")
    assert changes(more, turned).applied == ("servers",)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[gateway]\nhost = "127.0.0.2"', "gateway.host"),
        ("[gateway]\nport = 1", "gateway.port"),
        ('[gateway]\nserver_id = "g"', "gateway.server_id"),
        ('[gateway]\n[audit]\nsync = "always"', "audit.sync"),
        ("[gateway]\n[limits]\nframe_bytes = 5", "limits.frame_bytes"),
        ("[gateway]\n[limits]\nqueue_bytes = 5", "limits.queue_bytes"),
        ("[gateway]\n[limits]\nheader_bytes = 5", "limits.header_bytes"),
        ("[gateway]\n[limits]\nconnections = 5", "limits.connections"),
        ("[gateway]\n[limits]\nconnections_per_s = 5", "limits.connections_per_s"),
        ("[gateway]\n[limits]\nconnections_per_address = 5", "limits.connections_per_address"),
    ],
)
def test_what_needs_a_restart_is_told_apart_and_stays(folder: Path, text: str, key: str) -> None:
    running = settings(folder, BASE)
    wanted = settings(folder, BASE.replace('[gateway]\nhost = "127.0.0.1"', text))
    assert changes(running, wanted).waiting == (key,)
    assert changes(running, pinned(running, wanted)).keys == ()


def test_rate_limits_of_the_protocol_are_taken_over_and_the_rest_of_it_waits(folder: Path) -> None:
    text = "[mcp.protocol]\n[mcp.protocol.rate_limits]\nuser_requests_per_second = 7\n"
    running = settings(folder, BASE + text)
    wanted = settings(folder, BASE + text.replace("7", "9"))
    found = changes(running, wanted)
    assert found.applied == (
        "limits.doors.groundhog.caller.per_second",
        "protocol.rate_limits.user_requests_per_second",
    )
    assert found.waiting == ()
    assert changes(pinned(running, wanted), wanted).keys == ()
    other = text.replace("[mcp.protocol]", '[mcp.protocol]\nversion = "2.0.0"')
    found = changes(running, settings(folder, BASE + other))
    assert (found.applied, found.waiting) == ((), ("protocol.version",))


def test_a_table_that_nobody_applies_waits_and_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = tuple(one for one in applied._APPLIED if one != "flow.")
    monkeypatch.setattr(applied, "_APPLIED", others)
    running = settings(folder, BASE)
    wanted = settings(folder, BASE + '[flow]\nthen = "refuse"\n')
    assert changes(running, wanted).waiting == ("flow.then",)
    assert pinned(running, wanted).flow == running.flow


def test_another_state_folder_needs_a_restart(folder: Path) -> None:
    running = settings(folder, BASE)
    (folder / "other").mkdir()
    found = changes(running, settings(folder / "other", BASE))
    assert "storage.path" in found.waiting


def test_callers_without_a_key_are_not_let_in_at_the_address_that_is_still_open(
    folder: Path,
) -> None:
    """The file alone would be right; with what runs it is not."""
    running = settings(folder, BASE.replace("127.0.0.1", "0.0.0.0"))
    wanted = settings(folder, BASE.replace("[gateway]", '[gateway]\nanonymous = "allow"'))
    with pytest.raises(SettingsError, match=r"gateway.anonymous"):
        pinned(running, wanted)
    protocol = '\n[mcp.protocol.transport]\nhost = "0.0.0.0"\n'
    with pytest.raises(SettingsError, match=r"gateway.anonymous"):
        pinned(settings(folder, BASE + protocol), wanted)


def test_the_version_follows_the_policy_and_not_secrets_or_lines(folder: Path) -> None:
    first = policy_version(settings(folder, BASE))
    assert len(first) == 16
    assert policy_version(settings(folder, "\n# more lines\n" + BASE)) == first
    assert policy_version(settings(folder, BASE.replace('"one"', '"two"'))) == first
    assert policy_version(settings(folder, BASE.replace("dangerous", "safe"))) != first


def test_what_stands_for_a_secret_in_the_file_stands_for_it_in_the_version(folder: Path) -> None:
    text = BASE.replace('command = "run"', 'command = "run"\nargs = ["--key", "${file:key}"]')
    (folder / "key").write_text("one")
    first = settings(folder, text)
    (folder / "key").write_text("two")
    second = settings(folder, text)
    assert policy_version(first) == policy_version(second)
    assert changes(first, second).applied == ("servers.files.args",)


def test_what_was_registered_is_a_version_of_its_own_and_changes_none_of_others(
    folder: Path,
) -> None:
    found = settings(folder, BASE)
    registered = replace(found.servers[0], id="mine", created_by="ann", registered_at=1.0)

    def beside(one: Server) -> Callable[[str], str]:
        return versions(
            replace(found, servers=(*found.servers, one), configured=policy_version(found))
        )

    assert beside(registered)("files") == versions(found)("files") == policy_version(found)
    mine = {beside(replace(registered, registered_at=at))("mine") for at in (1.0, 2.0)}
    assert len(mine | {policy_version(found)}) == 3
