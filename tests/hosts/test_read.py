"""Every format: what is read from a sample of it is the servers that its documentation says it means."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from gatewright.hosts.model import CannotRead, Server, Source
from gatewright.hosts.read import MAX_SERVERS, Place, read
from tests.hosts.host_samples import SAMPLES
from tests.hosts.more_samples import BUNDLES, MANIFEST, MORE_SAMPLES
from tests.hosts.sample import Sample, zipped

ALL = {**SAMPLES, **MORE_SAMPLES}


def _place(sample: Sample) -> Place:
    return Place(
        file="/home/me/file",
        host=sample.host,
        workspace=sample.workspace,
        platform="linux",
        bundles=BUNDLES,
    )


def _bare(server: Server) -> Server:
    return msgspec.structs.replace(server, source=Source())


def _diff(server: Server) -> dict[str, object]:
    # The repr of a server hides its values; a failing comparison should show them.
    return msgspec.structs.asdict(_bare(server))


@pytest.mark.parametrize("name", ALL)
def test_a_sample_means_exactly_these_servers(name: str) -> None:
    sample = ALL[name]
    reading = read(sample.text.encode(), _place(sample))
    assert [_diff(one) for one in reading.servers] == [_diff(one) for one in sample.servers]
    assert reading.suggestions == sample.suggestions
    left = [(one.server, one.level) for one in reading.notes if one.level in {"refused", "skipped"}]
    assert left == list(sample.left)


@pytest.mark.parametrize("name", ALL)
def test_a_sample_knows_where_each_server_stood(name: str) -> None:
    sample = ALL[name]
    content = sample.text.encode()
    for server in read(content, _place(sample)).servers:
        assert server.source.file == "/home/me/file"
        assert server.source.format == sample.form
        assert server.source.sha256 == hashlib.sha256(content).hexdigest()


def test_a_bundle_is_read_from_inside_the_zip() -> None:
    content = zipped({"manifest.json": MANIFEST, "server/index.js": "// nothing"})
    sha256 = hashlib.sha256(content).hexdigest()
    reading = read(content, Place(file="/home/me/x.mcpb", platform="linux", bundles=BUNDLES))
    folder = f"{BUNDLES}/local-files/sha256-{sha256[:40]}"
    assert [_diff(one) for one in reading.servers] == [
        _diff(
            Server(
                id="local-files",
                title="Local Files",
                transport="stdio",
                command="node",
                args=(
                    f"{folder}/server/index.js",
                    "${HOME}/Desktop",
                    "/srv",
                    "--out=${HOME}/Documents/x",
                ),
                cwd=folder,
                env={
                    "API_KEY": "${secret:local-files.api_key}",
                    "LEVEL": "${LEVEL:-3}",
                    "MUST": "${MUST}",
                    "ON": "linux",
                },
            )
        )
    ]


def test_a_manifest_by_itself_belongs_to_the_folder_it_stands_in() -> None:
    reading = read(MANIFEST.encode(), Place(file="/srv/bundle/manifest.json", platform="win32"))
    (server,) = reading.servers
    assert (server.command, server.cwd) == ("node.exe", "/srv/bundle")


def test_values_that_were_converted_are_told_with_what_they_became() -> None:
    reading = read(SAMPLES["gemini"].text.encode())
    told = [(one.server, one.what) for one in reading.notes if one.level == "converted"]
    assert told == [("py", "15000 ms is 15 s"), ("stream", "5000 ms is 5 s")]


def test_the_same_url_is_another_transport_where_the_host_is_known_to_mean_it() -> None:
    text = b'{"mcpServers": {"a": {"url": "https://a.example/x"}}}'
    kinds = [read(text, Place(host=host)).servers[0].transport for host in ("", "gemini", "cursor")]
    assert kinds == ["http", "sse", "http"]


def test_keys_that_were_not_read_are_told_by_name() -> None:
    text = b'{"mcpServers": {"a": {"command": "x", "zeal": 1, "ghp_abcdefghijklmnop1234": 2}}}'
    (note,) = read(text).notes
    assert (note.level, note.what) == ("warning", "not taken over: zeal, ***")


def test_a_name_that_cannot_be_an_id_becomes_one() -> None:
    text = b'{"mcpServers": {"My Server!": {"command": "x"}, "mgp": {"command": "x"}, "sk-abcdefgh12345678": {"command": "x"}, "/": {"command": "x"}}}'
    assert [one.id for one in read(text).servers] == ["My-Server", "mgp-server", "server", "server"]


def test_a_relative_folder_is_one_of_the_file_or_the_project() -> None:
    text = b'{"mcpServers": {"a": {"command": "x", "cwd": "sub"}}}'
    assert read(text, Place(file="/w/f.json")).servers[0].cwd == "/w/sub"
    assert read(text, Place(file="/w/f.json", workspace="/p")).servers[0].cwd == "/p/sub"
    assert read(text, Place(file="-")).servers[0].cwd == "sub"


@pytest.mark.parametrize("text", ["{}", "[]", '"x"', "a: b", "x = 1", '{"mcp": {"a": 1}, "b": 2}'])
def test_a_document_of_no_known_kind_is_named_as_such(text: str) -> None:
    with pytest.raises(CannotRead) as found:
        read(text.encode())
    assert found.value.kind == "unknown-format"


@pytest.mark.parametrize("text", ['{"mcpServers": {}}', '{"projects": {}}', "extensions: {}"])
def test_a_place_without_servers_is_no_error(text: str) -> None:
    assert read(text.encode()).servers == ()


def test_a_document_with_too_many_servers_is_refused_as_a_whole() -> None:
    many = ",".join(f'"s{n}": {{"command": "x"}}' for n in range(MAX_SERVERS + 1))
    with pytest.raises(CannotRead) as found:
        read(f'{{"mcpServers": {{{many}}}}}'.encode())
    assert found.value.kind == "too-many"
