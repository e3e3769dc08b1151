"""URLs as a source: https and public addresses, unless private ones were asked for."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.cli.errors import CliError
from gatewright.hosts.commands.import_sources import Found, fetch, find_sources
from gatewright.hosts.commands.imports import bring_in
from gatewright.hosts.model import CannotRead
from gatewright.hosts.read import Place
from gatewright.hosts.whole_file import MAX_BYTES
from tests.cli.shell import Shell
from tests.hosts.more_samples import MANIFEST, MORE_SAMPLES
from tests.hosts.sample import zipped


class _Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text = MORE_SAMPLES["registry-api"].text.encode()
        self.send_response(200 if self.path.startswith("/server") else 302)
        self.send_header("Location", "/server")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        """Nothing on the terminal."""


@pytest.fixture
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_entry_of_a_registry_is_imported_from_its_url(shell: Shell, site: str) -> None:
    done = shell.run("import", f"{site}/server?key=hunter2", "--private", "--json")
    assert done.code == 0
    (server,) = done.document["servers"]
    assert (server["id"], server["source"]["file"]) == ("weather", f"{site}/server")
    assert "hunter2" not in done.out + done.err


def test_a_private_address_is_not_asked_unless_it_is_allowed(site: str) -> None:
    for url in (f"{site}/server", site.replace("http:", "https:"), "http://localhost:1/"):
        with pytest.raises(CannotRead) as found:
            fetch(url, private=False)
        assert found.value.kind == "unreachable"


def test_a_redirect_is_not_followed(site: str) -> None:
    with pytest.raises(CannotRead, match="status 302"):
        fetch(f"{site}/elsewhere", private=True)


def test_a_source_that_failed_is_told_apart_from_one_that_was_never_there() -> None:
    (found,) = find_sources(["https://[::1]:1/x"], "/b", private=False)
    assert found.problem is not None
    assert found.content == b""
    with pytest.raises(CliError, match="keeps no servers here"):
        find_sources(["inspector"], "/b", private=False)


def test_what_is_no_url_is_told_and_no_query_is_shown() -> None:
    for word in ("https://[x", "https://[x?key=hunter2#hunter2"):
        (found,) = find_sources([word], "/b", private=True)
        assert found.problem is not None
        assert found.place.file == "https://[x"


def test_two_bundles_from_one_place_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query of a URL is not shown, and `-` is standard input each time: the place says nothing about the content."""
    for name in ("HOME", "GATEWRIGHT_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    place = Place(file="https://h.example/dl", bundles=str(tmp_path / "bundles"))
    scripts = ["// one", "// other"]
    found = [
        Found(content=zipped({"manifest.json": MANIFEST, "server/index.js": script}), place=place)
        for script in scripts
    ]
    config = tmp_path / "mgp.toml"
    bring_in(found, config, permits=lambda _server, _names: True)
    servers = tomllib.loads(config.read_text())["servers"]
    assert [Path(one["cwd"], "server/index.js").read_text() for one in servers] == scripts
    for one, source in zip(servers, found, strict=True):
        assert one["cwd"].endswith(hashlib.sha256(source.content).hexdigest()[:40])


def test_a_longer_text_than_any_file_may_have_is_refused_on_standard_input_too(
    shell: Shell,
) -> None:
    long = json.dumps({"mcpServers": {"a": {"command": "b"}}, "rest": "x" * (MAX_BYTES + 1)})
    done = shell.run("import", "-", "--json", given=long)
    assert "standard input has more than 16 MB" in done.out + done.err
