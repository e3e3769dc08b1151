"""Reads entries of Docker's MCP catalogues and profiles as `docker run` servers or remote servers.

The image is started by us, so its environment is passed by name: no value stands on a command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatewright.hosts.dialects import TRANSPORTS
from gatewright.hosts.entry import Entry, literal
from gatewright.hosts.entry_places import secret_name
from gatewright.hosts.host_entry import check_url
from gatewright.hosts.model import Isolation, Refused, Server, Transport
from gatewright.hosts.placeholders import variable

__all__ = ["catalogue_entries", "is_entry", "read_catalogued", "template_meaning"]

_KINDS = ("server", "remote", "poci")


def is_entry(value: Any) -> bool:
    """Whether a table is one entry by itself."""
    return isinstance(value, dict) and value.get("type") in _KINDS and "name" in value


def catalogue_entries(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(key, name, entry) of a catalogue (`registry`), of a profile (`servers`), or of one entry."""
    registry, servers = document.get("registry"), document.get("servers")
    if isinstance(registry, dict):
        for name, entry in registry.items():
            yield f"registry.{name}", str(name)[:200], entry
    elif isinstance(servers, list):
        for number, one in enumerate(servers):
            snapshot = one.get("snapshot") if isinstance(one, dict) else None
            entry = snapshot.get("server", one) if isinstance(snapshot, dict) else one
            name = entry.get("name") if isinstance(entry, dict) else None
            yield f"servers.{number}", str(name or number)[:200], entry
    elif is_entry(document):
        yield "", str(document["name"])[:200], document


def template_meaning(data: Mapping[str, Any]) -> Any:
    """What `{{server.property}}` stands for: the property's default, else a variable."""
    defaults: dict[str, str] = {}
    config = data.get("config")
    for group in config if isinstance(config, list) else []:
        properties = group.get("properties") if isinstance(group, dict) else None
        for name, about in properties.items() if isinstance(properties, dict) else ():
            default = about.get("default") if isinstance(about, dict) else None
            # These characters would end, or nest, the reference that the default is written into.
            if isinstance(default, str | int | float) and not set("${}") & set(f"{default}"):
                defaults[f"{group.get('name')}.{name}"] = f"{default}"

    def meaning(inner: str) -> str | None:
        default = defaults.get(inner)
        return None if default is None else f"${{{variable(inner)}:-{default}}}"

    return meaning


def read_catalogued(entry: Entry, name: str) -> Server:
    """The server of an entry. Raises `Refused`."""
    if entry.data.keys() <= {"ref"}:
        raise Refused(
            "it only names an entry of a catalogue", "import the catalogue", harmless=True
        )
    # Nothing of these is needed: read, so that they are not reported as unread.
    entry.raw(
        "description", "icon", "readme", "toolsUrl", "source", "upstream", "metadata", "tools"
    )
    entry.raw("dateAdded", "prompts", "resources", "longLived", "config", "name", "ref")
    kind = entry.word("type")
    title = literal(entry.word("title"), "title")
    if kind == "poci":
        raise Refused("each of its tools is a container of its own", "this is not an MCP server")
    if entry.has("remote") or entry.has("sseEndpoint") or kind == "remote":
        url, transport, headers = _remote(entry)
        return Server(id=name, title=title, transport=transport, url=url, headers=headers)
    image = entry.text("image")
    # `docker run` would read it as an option.
    if not image or image.startswith("-"):
        raise Refused("the entry has no image", "correct it")
    env = {**_variables(entry), **_secrets(entry, name)}
    hosts = entry.words("allowHosts")
    alone = entry.flag("disableNetwork") is True
    return Server(
        id=name,
        title=title,
        transport="stdio",
        command="docker",
        args=tuple(_run(entry, image, env, alone=alone)),
        env=env,
        isolation=Isolation(network="none" if alone else "hosts" if hosts else None, hosts=hosts),
    )


def _run(entry: Entry, image: str, env: Mapping[str, str], *, alone: bool) -> Iterator[str]:
    yield from ("run", "--rm", "-i", "--init")
    if alone:
        yield from ("--network", "none")
    if user := entry.text("user"):
        yield from ("-u", user)
    for volume in entry.texts("volumes"):
        yield from ("-v", volume)
    for name in env:
        # By name alone: docker takes the value from its own environment, so none is in the list of processes.
        yield from ("-e", name)
    yield image
    yield from entry.texts("command")


def _remote(entry: Entry) -> tuple[str, Transport, dict[str, str]]:
    inner = Entry(entry.table("remote"), syntaxes=entry.syntaxes, meaning=entry.meaning)
    url = inner.text("url") or entry.text("sseEndpoint")
    kind = inner.word("transport_type", "type") or ("sse" if entry.has("sseEndpoint") else "http")
    transport = TRANSPORTS.get(kind)
    if transport is None or transport == "stdio":
        raise Refused("the remote has an unknown transport_type", "correct it")
    check_url(url)
    return url, transport, inner.headers("headers")


def _pairs(entry: Entry, key: str) -> Iterator[Mapping[str, Any]]:
    value = entry.raw(key)
    for one in value if isinstance(value, list) else []:
        if isinstance(one, dict):
            yield one


def _variables(entry: Entry) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in _pairs(entry, "env"):
        inner = Entry(one, syntaxes=entry.syntaxes, meaning=entry.meaning)
        found[inner.word("name")] = inner.text("value")
    # Read once more for its check of names, which come from the catalogue.
    return Entry({"env": found}).variables("env")


def _secrets(entry: Entry, server: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in _pairs(entry, "secrets"):
        inner = Entry(one)
        name = inner.word("name") or f"{server}.{inner.word('env')}"
        found[inner.word("env")] = f"${{secret:{secret_name(name)}}}"
    oauth = entry.table("oauth")
    for one in _pairs(Entry(oauth), "providers"):
        inner = Entry(one)
        if inner.has("env") and inner.word("env") not in found:
            found[inner.word("env")] = f"${{secret:{secret_name(inner.word('secret') or server)}}}"
    return Entry({"secrets": found}).variables("secrets")
