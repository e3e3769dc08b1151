"""What is kept from isolated servers is what the gateway follows, there or not."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from gatewright.config import FileSource, Settings
from gatewright.config.trust import trust_of
from gatewright.servers import gateway_code, gateway_files
from gatewright.servers.gateway_code import own_code
from gatewright.servers.gateway_files import (
    changed_by_servers,
    guarded_of,
    hidden_folders_of,
    hidden_of,
    kept_of,
)
from gatewright.servers.settings_adapters import specs_of
from tests.accepting import accept_file

SERVER = '[[servers]]\nid = "{}"\ncommand = "x"\n'
READING = """
[redaction]
rules = ["rules.toml"]
[secrets]
key_file = "keys/secrets.key"
[[servers]]
id = "api"
openapi = "api.json"
base_url = "http://127.0.0.1:1"
[[servers]]
id = "far"
openapi = "https://api.example/api.json"
[[servers]]
id = "folder"
python = "./tools"
[[servers]]
id = "module"
python = "mine.tools"
[[servers]]
id = "program"
command = "x"
isolation = "confined"
env = { TOKEN = "${file:token}" }
[servers.sandbox]
write = ["data"]
"""


def loaded(folder: Path, config: Path | None = None) -> tuple[Settings, FileSource, dict[str, str]]:
    environ = {"HOME": str(folder / "home"), "GATEWRIGHT_STATE": str(folder / "state")}
    for file in (folder / "mgp.toml",):
        if file.exists():
            accept_file(file, environ)
    source = FileSource(config, environ=environ, cwd=folder)
    return source.load(), source, environ


def test_every_file_that_counts_or_would_is_hidden(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for config in (None, tmp_path / "other.toml"):
        for file in (tmp_path / "other.toml", inner / "mgp.toml"):
            file.write_text(SERVER.format("a"))
        settings, source, environ = loaded(inner, config)
        hidden = {*map(Path, hidden_of(settings))}
        assert {one for group in source.follows() for one in group} <= hidden
        assert Path(environ["HOME"], ".config", "mgp", "servers.toml") in hidden
        folders = {*map(Path, hidden_folders_of(settings))}
        assert {trust_of(environ).file.parent, settings.storage.path} == folders


def test_what_the_configuration_names_is_kept_and_keys_are_hidden(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[[rules]]\nid = "r"\nregex = "abcdef"\n')
    (tmp_path / "token").write_text("t")
    (tmp_path / "api.json").write_text("{}")
    (tmp_path / "mgp.toml").write_text(READING)
    settings, _, _ = loaded(tmp_path)
    assert {Path(one.path).relative_to(tmp_path).as_posix() for one in kept_of(settings)} == {
        *("rules.toml", "token", "api.json", "tools", "mine", "mine.py", "."),
    }
    assert str(tmp_path / "keys" / "secrets.key") in hidden_of(settings)
    assert changed_by_servers(settings) == (str(tmp_path / "data"),)


def test_all_that_is_guarded_is_found_once_for_all_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks the file system, and calls wait meanwhile; without an isolated server it is not asked at all."""
    said = "".join(f"{SERVER.format(one)}isolation = 'confined'\n" for one in "abc")
    (tmp_path / "mgp.toml").write_text(said + SERVER.format("open"))
    settings, _, _ = loaded(tmp_path)
    asked: list[Settings] = []

    def asks(settings: Settings) -> gateway_files.Guarded:
        asked.append(settings)
        return guarded_of(settings)

    monkeypatch.setattr("gatewright.servers.settings_adapters.guarded_of", asks)
    specs = specs_of(settings, settings.servers)
    assert asked == [settings]
    kept = [one.isolation.kept for one in specs if one.isolation is not None]
    assert kept == [guarded_of(settings).kept] * 3
    assert {*own_code()} <= {*kept[0]}
    specs_of(settings, settings.servers[3:])
    assert asked == [settings]


def test_keys_of_connections_that_this_process_writes_down_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _, _ = loaded(tmp_path)
    assert "/keys/log" not in hidden_of(settings)
    monkeypatch.setitem(gateway_code._ENVIRON, "SSLKEYLOGFILE", "/keys/log")
    assert "/keys/log" in hidden_of(settings)


def test_files_that_stand_for_values_of_any_table_are_kept(tmp_path: Path) -> None:
    """And the folder of a model, which native libraries read inside the gateway."""
    (tmp_path / "mgp.toml").write_text(
        '[discovery.embedder]\ntype = "model"\npath = "./models/one"\n'
        '[[audit.sinks]]\nname = "a"\ntype = "http"\nurl = "https://logs.example"\nheaders = { A = "Bearer ${file:logs/token}" }\n'
    )
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "token").write_text("t")
    settings, _, _ = loaded(tmp_path)
    found = {Path(one.path).relative_to(tmp_path).as_posix() for one in kept_of(settings)}
    assert found == {"models/one", "logs/token"}


PLACES = {
    "audit.sinks.path": "kept",
    "discovery.embedder.path": "kept",
    "files": "hidden",
    "accepted": "kept: `${file:PATH}`, and documents of APIs",
    "own.files": "hidden",
    "own.folders": "hidden",
    "protocol.audit.sinks.file_path": "kept: it becomes one of audit.sinks",
    "protocol.transport.tls.ca_file": "kept",
    "protocol.transport.tls.cert_file": "kept",
    "protocol.transport.tls.key_file": "hidden",
    "redaction.rules": "kept",
    "secrets.key_file": "hidden",
    "servers.openapi": "kept",
    "servers.python": "kept",
    "storage.path": "hidden",
    "builtin.directory_list.roots": "only listed",
    "registration.folders": "scripts that run isolated",
    "servers.confinement.read": "shown",
    "servers.confinement.write": "shown",
    "servers.cwd": "shown",
    "servers.origin.file": "one of files",
    "protocol.transport.path": "of a URL",
}
NUMBERS = {"keep_files", "open_files", "file_bytes", "file_sink"}


def test_every_place_that_a_configuration_can_name_was_thought_of() -> None:
    """Another setting that has a path needs a word here, and `hidden_of` or `kept_of` as that says."""
    named = re.compile(r"(^|_)(path|paths|file|files|folder|folders|roots|rules|openapi|python)$")
    found = {
        f"{at}{name}"
        for at, name, kind in fields(Settings, "", set())
        if (has_path(kind) or named.search(name)) and name not in NUMBERS
    }
    assert found - {"redaction_rules"} == set(PLACES)


def fields(kind: Any, at: str, known: set[Any]) -> Iterator[tuple[str, str, Any]]:
    """(where, name, type) of everything that can be set."""
    if kind in known:
        return
    known.add(kind)
    for name, inner in get_type_hints(kind).items():
        yield at, name, inner
        for one in structs(inner):
            yield from fields(one, f"{at}{name}.", known)


def structs(kind: Any) -> Iterator[Any]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for one in get_args(kind):
        yield from structs(one)


def has_path(kind: Any) -> bool:
    return kind is Path or any(map(has_path, get_args(kind)))


def test_what_modules_inside_the_gateway_are_imported_from_is_kept(tmp_path: Path) -> None:
    """The folder on the path of modules: `__pycache__` is there, and whatever they import."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "tools.py").touch()
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "tools.py").symlink_to("../elsewhere/tools.py")
    for python, kept in {
        "./one/tools.py": {"one/tools.py", "one"},
        "./link/tools.py": {"link/tools.py", "link", "elsewhere"},
        "app.tools": {"app", "app.py", "."},
        "./data": {"data"},
    }.items():
        said = f'[[servers]]\nid = "in"\npython = "{python}"\n' + SERVER.format("out")
        said += 'isolation = "confined"\nsandbox.write = ["data/own", "notes"]\n'
        (tmp_path / "mgp.toml").write_text(said)
        settings, _, _ = loaded(tmp_path)
        found = {Path(one.path).relative_to(tmp_path).as_posix() for one in kept_of(settings)}
        assert found == kept, python
        whole = {Path(one.path).name for one in kept_of(settings) if one.whole}
        assert whole == {"app.tools": {"app"}, "./data": {"data"}}.get(python, set())
        assert all("the server in, which runs inside" in one.why for one in kept_of(settings))


def test_the_files_of_audit_sinks_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGS", str(tmp_path / "logs"))
    sinks = {
        "a": ("file", "${LOGS}/a.jsonl"),
        "b": ("sqlite", "rows.db"),
        "c": ("file", "${NO_SUCH}/c"),
    }
    said = "".join(
        f'[[audit.sinks]]\nname = "{name}"\ntype = "{kind}"\npath = "{path}"\n'
        for name, (kind, path) in sinks.items()
    )
    (tmp_path / "mgp.toml").write_text(said)
    settings, _, _ = loaded(tmp_path)
    found = {Path(one.path).relative_to(tmp_path).as_posix() for one in kept_of(settings)}
    assert found == {"logs/a.jsonl", "state/rows.db"}


def test_a_place_to_write_to_that_would_be_a_module_of_the_gateway_is_kept_whole(
    tmp_path: Path,
) -> None:
    """The folder is put at the end of the path of modules, so it stands in for nothing that is there."""
    names = ["html", "data", "docs", "json", "site", "usercustomize", "uvicorn", "org"]
    for name in names:
        (tmp_path / name).mkdir()
    for python in ("./tools.py", "tools"):
        said = f'[[servers]]\nid = "in"\npython = "{python}"\n' + SERVER.format("out")
        said += f'isolation = "confined"\nsandbox.write = {names}\n'
        (tmp_path / "mgp.toml").write_text(said)
        settings, _, _ = loaded(tmp_path)
        whole = {Path(one.path).name for one in guarded_of(settings).kept if one.whole}
        assert whole & {*names} == {"usercustomize", "org"}, python


def test_a_gateway_that_is_started_as_a_module_finds_modules_beside_its_configuration_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else the folder is: its own environment, the folder of a server that runs inside the gateway."""
    for name in ("html", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(gateway_code, "_PATH", (str(tmp_path), *gateway_code._PATH))
    for prefix, python in ((tmp_path, "tools"), (tmp_path, "./tools.py"), (sys.prefix, "tools")):
        monkeypatch.setattr(sys, "prefix", str(prefix))
        said = f'[[servers]]\nid = "in"\npython = "{python}"\n' + SERVER.format("out")
        said += 'isolation = "confined"\nsandbox.write = ["html", "data"]\n'
        (tmp_path / "mgp.toml").write_text(said)
        settings, _, _ = loaded(tmp_path)
        whole = {Path(one.path).name for one in guarded_of(settings).kept if one.whole}
        assert whole & {"html", "data"} == {"html"}


def test_a_link_beside_a_server_inside_the_gateway_leads_to_its_code(tmp_path: Path) -> None:
    """Its tools import what they find there by any name."""
    for name in ("tools/package", "out/helpers", "out/late", "out/data"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tools" / "package" / "__init__.py").touch()
    for link, target in {"helpers": "helpers", "package/late": "late"}.items():
        (tmp_path / "tools" / link).symlink_to(tmp_path / "out" / target)
    said = '[[servers]]\nid = "in"\npython = "./tools"\n' + SERVER.format("out")
    said += 'isolation = "confined"\nsandbox.write = ["out/helpers", "out/late", "out/data"]\n'
    (tmp_path / "mgp.toml").write_text(said)
    settings, _, _ = loaded(tmp_path)
    whole = {one.path for one in guarded_of(settings).kept if one.whole}
    assert {f"{tmp_path}/tools/{one}" for one in ("helpers", "package/late")} <= whole
    assert not {one for one in whole if one.endswith("/data")}


def test_what_one_server_may_not_write_to_keeps_no_other_from_the_data_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("helper/data", "helper/sub"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("helper/__init__.py", "helper/late.py", "helper/sub/mod.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(gateway_code, "_PATH", (str(tmp_path), *gateway_code._PATH))
    said = "".join(
        SERVER.format(one) + f'isolation = "confined"\nsandbox.write = {places}\n'
        for one, places in {"a": ["helper/late.py", "helper/sub"], "b": ["helper/data"]}.items()
    )
    (tmp_path / "mgp.toml").write_text(said)
    settings, _, _ = loaded(tmp_path)
    kept = {one.path for one in guarded_of(settings).kept}
    places = {f"{tmp_path}/helper{one}" for one in ("", "/late.py", "/sub", "/data")}
    assert kept & places == {f"{tmp_path}/helper/late.py", f"{tmp_path}/helper/sub"}


def test_a_place_to_write_to_that_would_be_a_module_of_a_server_inside_the_gateway_is_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package comes before the file of its name, and what is on the path as the gateway starts before what servers add."""
    for name in ("other/inner", "elsewhere", "other/mine/data"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "other" / "inner" / "deep.py").touch()
    (tmp_path / "elsewhere" / "real.py").touch()
    (tmp_path / "other" / "link.py").symlink_to(tmp_path / "elsewhere" / "real.py")
    monkeypatch.setattr(gateway_code, "_PATH", (str(tmp_path), *gateway_code._PATH))
    for python, cwd, name in (
        ("./mine.py", ".", "mine"),
        ("./inner/deep.py", "other", "deep"),
        ("./link.py", "other", "real"),
        ("./inner", "other", "deep"),
        ("mine.tools", "other", "mine"),
    ):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / "data").mkdir(exist_ok=True)
        said = f'[[servers]]\nid = "in"\npython = "{python}"\ncwd = "{cwd}"\n'
        said += SERVER.format("out")
        said += f'isolation = "confined"\nsandbox.write = ["{name}", "data"]\n'
        (tmp_path / "mgp.toml").write_text(said)
        settings, _, _ = loaded(tmp_path)
        whole = {one.path for one in guarded_of(settings).kept if one.whole}
        assert str(tmp_path / name) in whole, python
        assert str(tmp_path / "data") not in whole
    monkeypatch.setattr(gateway_code, "_PATH", gateway_code._PATH[1:])
    (tmp_path / "mgp.toml").write_text(
        said.replace("other", ".").replace("mine.tools", "./mine.py")
    )
    settings, _, _ = loaded(tmp_path)
    assert str(tmp_path / "mine") in {one.path for one in guarded_of(settings).kept if one.whole}
