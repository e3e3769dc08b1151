"""Secrets in plain text: found by place, moved without a value being shown or lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.config import SettingsError, load
from gatewright.config.documents import Document, parse, read
from gatewright.config.sealed_file import SealedFile
from gatewright.config.secret_users import users
from gatewright.config.substitute import Sources, substitute
from gatewright.hosts.literals import find_literals, move_literals, secured
from tests.accepting import allow_secret

TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
TEXT = f"""\
# ours
[[servers]]
id = "a"
command = "x"                       # why
args = ["--verbose", "--api-key={TOKEN}", "plain"]

[servers.env]
API_KEY = "hunter2-hunter2"         # which
HOME = "/somewhere"
GOOD = "${{GOOD:-}}"

[[servers]]
id = "b"
url = "http://127.0.0.1:1/mcp"
headers = {{ Authorization = "Bearer {TOKEN}", X-Team = "us" }}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mgp.toml"
    path.write_text(TEXT)
    return path


def environ(file: Path) -> dict[str, str]:
    return {"GATEWRIGHT_STATE": str(file.parent / "state"), "HOME": str(file.parent)}


def allowing(file: Path) -> Callable[[str], Callable[[], None]]:
    return lambda name: allow_secret(name, file, file.parent / "state", environ(file))


def effective(file: Path) -> list[tuple[Any, ...]]:
    return [(one.args, one.env, one.headers) for one in load(file, environ=environ(file)).servers]


def test_each_is_named_by_place_and_no_value_is_shown(file: Path) -> None:
    found = find_literals(read(file))
    assert [(one.origin.line, one.key) for one in found] == [
        (5, "servers.a.args.1"),
        (8, "servers.a.env.API_KEY"),
        (15, "servers.b.headers.Authorization"),
    ]
    assert not any("hunter2" in str(one) or TOKEN in str(one) for one in found)


def test_what_is_moved_is_the_same_to_the_server_and_gone_from_the_file(file: Path) -> None:
    before = effective(file)
    secrets = SealedFile(file.parent / "state")
    moved = move_literals(file, secrets, allowing(file))
    assert len(moved) == 3
    text = file.read_text()
    assert not any(word in text for word in ("hunter2", TOKEN))
    assert [line.split("#")[-1] for line in text.splitlines() if "#" in line] == [
        " ours",
        " why",
        " which",
    ]
    assert 'API_KEY = "${secret:a.API_KEY}"' in text
    assert "Bearer ${secret:" in text
    assert effective(file) == before
    assert find_literals(read(file)) == []
    assert move_literals(file, secrets, allowing(file)) == []


def test_a_name_that_is_taken_by_another_value_is_left_alone(file: Path) -> None:
    secrets = SealedFile(file.parent / "state")
    secrets.put("a.API_KEY", "another")
    before = effective(file)
    move_literals(file, secrets, allowing(file))
    assert secrets.get("a.API_KEY") == "another"
    assert secrets.get("a.API_KEY-2") == "hunter2-hunter2"
    assert effective(file) == before


def test_where_the_file_cannot_be_changed_nothing_is_kept(file: Path) -> None:
    file.write_text(TEXT + "[gateway]\nport = 'x'\n")
    secrets = SealedFile(file.parent / "state")
    with pytest.raises(SettingsError):
        move_literals(file, secrets, allowing(file))
    assert secrets.names() == []
    assert users(environ(file), file.parent / "state", "a.API_KEY") == []
    assert TOKEN in file.read_text()


_TEXTS = st.text(max_size=8) | st.just(TOKEN) | st.integers() | st.none()
_TABLES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.text(max_size=8) | st.integers(),
        "command": _TEXTS,
        "args": st.lists(_TEXTS, max_size=3) | _TEXTS,
        "env": st.dictionaries(st.sampled_from(["TOKEN", "a b"]), _TEXTS) | _TEXTS,
        "auth": st.dictionaries(st.sampled_from(["bearer", "x"]), _TEXTS) | _TEXTS,
        "url": _TEXTS,
    },
)


@given(st.lists(_TABLES | _TEXTS, max_size=3) | _TEXTS)
def test_no_file_breaks_the_search(servers: Any) -> None:
    found = find_literals(Document(Path("mgp.toml"), {"servers": servers}, {}))
    assert not any(TOKEN in str(one) for one in found)


def test_an_empty_file_has_none() -> None:
    assert find_literals(parse("", Path("mgp.toml"))) == []


def test_a_table_that_is_still_to_be_written_is_secured(tmp_path: Path) -> None:
    secrets = SealedFile(tmp_path)
    table = {"id": "a", "command": "x", "env": {"API_KEY": "hunter2-hunter2", "PORT": "1"}}
    clean, values = secured(table, secrets)
    assert clean["env"] == {"API_KEY": "${secret:a.API_KEY}", "PORT": "1"}
    assert values == {"a.API_KEY": "hunter2-hunter2"}
    assert secrets.names() == []
    assert table["env"] == {"API_KEY": "hunter2-hunter2", "PORT": "1"}
    assert secured({"id": "a", "command": "x"}, secrets) == ({"id": "a", "command": "x"}, {})


SINKS = f"""\
[[audit.sinks]]
name = "siem"
type = "http"
url = "https://logs.example/in?api_key={TOKEN}"   # where
headers = {{ Authorization = "Bearer {TOKEN}", X-Team = "us" }}

[[audit.sinks]]
name = "rows"
type = "postgres"
dsn = "postgresql://me:{TOKEN}@db.example/audit"

[mcp.protocol.audit]
alert_webhook = "https://alerts.example/{TOKEN}"

[mcp.protocol.audit.sinks]
database_sink = true
database_url = "postgresql://me:{TOKEN}@db.example/other"
"""


def test_where_the_record_goes_is_looked_through_as_well(tmp_path: Path) -> None:
    """The same for sinks, ours and Groundhog's: the file loads as before, without the values."""
    file = tmp_path / "mgp.toml"
    file.write_text(SINKS)
    keys = [one.key for one in find_literals(read(file))]
    secrets = SealedFile(tmp_path / "state")
    assert len(move_literals(file, secrets, allowing(file))) == len(keys) == 5
    assert "mcp.protocol.audit.sinks.database_url" in keys
    assert TOKEN not in file.read_text()
    assert "# where" in file.read_text()
    assert find_literals(read(file)) == []
    found = load(file, environ=environ(file)).audit.sinks
    sources = Sources(environ(file), lambda: secrets, store=tmp_path / "state", file=file)
    assert {one.name: substitute(one.dsn or one.url, sources, tmp_path) for one in found} == {
        "siem": f"https://logs.example/in?api_key={TOKEN}",
        "rows": f"postgresql://me:{TOKEN}@db.example/audit",
        "groundhog-alerts": f"https://alerts.example/{TOKEN}",
        "groundhog-database": f"postgresql://me:{TOKEN}@db.example/other",
    }


def test_a_file_that_changes_before_it_is_written_is_left_as_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found at `servers.1` would be written into another server."""
    other = TEXT.replace('id = "a"', 'id = "other"')
    secrets = SealedFile(file.parent / "state")
    allow = allowing(file)

    def beside(name: str) -> Callable[[], object]:
        file.write_text(other)
        return allow(name)

    with pytest.raises(SettingsError, match="changed it in the meantime"):
        move_literals(file, secrets, beside)
    assert file.read_text() == other
    assert list(secrets.names()) == []
