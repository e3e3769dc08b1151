"""`gatewright doctor` check of connected hosts: reports a missing, changed or misdirected gateway entry, and servers that bypass it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gatewright.cli.finding import Finding, Level
from gatewright.command_text import to_type
from gatewright.config import is_loopback
from gatewright.hosts.commands.bypass_report import command_of, left_beside, listed, local_urls
from gatewright.hosts.commands.host_files import linked
from gatewright.hosts.commands.import_sources import places_of
from gatewright.hosts.edit import entries
from gatewright.hosts.entry_splices import Record, Step
from gatewright.hosts.host_table import Host, find_host
from gatewright.hosts.model import CannotRead
from gatewright.hosts.whole_file import Unreadable, read_text

__all__ = ["check_hosts"]


def check_hosts(records: list[Record], url: str) -> Iterator[Finding]:
    """`records` are what `connect` remembers; `url` is where the gateway is, or would be, and empty
    where nobody can say."""
    known = [(find_host(record.host), record) for record in records]
    ours = [(host, record) for host, record in known if host is not None]
    for host, record in ours:
        for step in record.steps:
            yield _looked_at(host, record, step, url)
    for host in {host.id: host for host, _ in ours}.values():
        yield from _beside(host, [record for known, record in ours if known is host], url)
    if not ours:
        yield Finding(
            check="host",
            subject="hosts",
            level="ok",
            what=f"none is connected by `{to_type('connect HOST')}`; a host may still use the URL",
        )


def _beside(host: Host, records: list[Record], url: str) -> Iterator[Finding]:
    """Servers that a connected host has beside the gateway."""
    written, ways = {}, {}
    for record in records:
        file = Path(record.file)
        with suppress(CannotRead, Unreadable):  # said above
            written[file] = (_text_of(host, file), [step.name for step in record.steps])
        project = file not in places_of(host)
        # `connect --project` edits the file of the folder it is typed in: no line typed here reaches another project's.
        if record.steps and not (project and file != Path.cwd() / host.project):
            ways[file] = command_of(host, record.steps[-1], project=project)
    left = left_beside(host, local_urls(url), written, ways)
    for (file, way), some in left.ungoverned().items():
        what = f"beside the gateway, without its grants and its record: {listed(some)} ({file})"
        yield _said(host, "warning", what, way)


def _looked_at(host: Host, record: Record, step: Step, url: str) -> Finding:
    file = Path(record.file)
    again = to_type("connect {}", host.id)
    try:
        now = entries(host, _text_of(host, file)).get(step.name)
    except (CannotRead, Unreadable) as problem:
        return _said(host, "warning", f"{file} cannot be read: {problem}", again)
    if now is None:
        what = f"our entry {step.name} is no longer in {file}"
        return _said(
            host, "warning", what, f"{again}, or forget it: {to_type('disconnect {}', host.id)}"
        )
    way = _way(host, now)
    if isinstance(way, list):
        program = Path(way[0])
        if program.is_absolute() and not program.exists():
            return _said(host, "problem", f"its entry starts {program}, which is not there", again)
        return (
            _changed(host, step, now)
            or _nameless(host, way, now)
            or _said(host, "ok", f"starts {program.name} as {step.name}")
        )
    if url and _elsewhere(way, url):
        what = f"its entry leads to {way}, but the gateway is at {url}"
        return _said(host, "problem", what, again)
    return _changed(host, step, now) or _said(host, "ok", f"uses {way} as {step.name}")


def _text_of(host: Host, file: Path) -> str:
    """The text of a host's file, which a project may have made anything of since. Raises `CannotRead` and `Unreadable`."""
    if file not in places_of(host) and host.project:
        what = linked(file, file.parents[len(Path(host.project).parts) - 1])
        if what:
            raise CannotRead("linked", what, "put a plain file of that project there")
    text = read_text(file)
    if text is None:
        raise CannotRead("missing", f"{file}: there is no such file", "check the path")
    return text


def _way(host: Host, entry: Mapping[str, Any]) -> list[str] | str:
    """The program that an entry starts, with its arguments, or the URL that it uses."""
    command = entry.get(host.local.command)
    if isinstance(command, list) and command:
        return [str(one) for one in command]
    if isinstance(command, str):
        more = entry.get(host.local.args, ())
        return [command, *map(str, more if isinstance(more, list) else ())]
    return str(entry.get(host.remote.url, "")) if host.remote is not None else ""


def _changed(host: Host, step: Step, now: Any) -> Finding | None:
    if now == step.entry:
        return None
    what = f"its entry {step.name} was changed by somebody since"
    return _said(host, "warning", what, f"if that was not meant: {to_type('connect {}', host.id)}")


def _nameless(host: Host, words: list[str], entry: Mapping[str, Any]) -> Finding | None:
    """An entry from before hosts were agents of their own. One with a key, or to a gateway elsewhere, is known by that."""
    if (
        "bridge" not in words
        or {"--as", "--url", "--key"} & set(words)
        or "GATEWRIGHT_KEY" in str(entry.get(host.local.env))
    ):
        return None
    what = "its calls come as `local`, as those of every host without a name do: no grant and no record tells it apart"
    return _said(host, "warning", what, to_type("connect {}", host.id))


def _elsewhere(way: str, url: str) -> bool:
    """Whether a URL of this machine is another one than the gateway's; a path may name a profile."""
    try:
        theirs, ours = urlsplit(way), urlsplit(url)
        local = is_loopback(theirs.hostname or "")
        # Behind any other name may be a proxy or another machine, of which nothing is known here.
        return local and theirs.port != ours.port
    except ValueError:
        return True


def _said(host: Host, level: Level, what: str, fix: str = "") -> Finding:
    return Finding(check="host", subject=host.title, level=level, what=what, fix=fix)
