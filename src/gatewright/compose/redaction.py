"""`[redaction]`, and what servers and tools say of their results, as rules for the filters."""

from __future__ import annotations

from gatewright.filters import Redact, Rules, Size
from gatewright.gates import Wanted
from gatewright.redaction import Redactor
from gatewright.settings import RedactionLevel, Settings
from gatewright.upstream.hub import Clean

__all__ = ["redaction_of", "said_of", "size_of", "wanted_of"]


def redaction_of(settings: Settings, key: bytes) -> Rules:
    """Which policy holds for what. `key` (32 bytes) makes the marks of one gateway its own."""
    said, wanted = settings.redaction, wanted_of(settings)

    def made(level: RedactionLevel, hidden: bool) -> Redactor | None:
        if level == "off" and not hidden:
            return None
        personal = frozenset(said.personal if level == "personal" else ())
        terms = () if level == "off" else said.terms
        return Redactor(key, secrets=level != "off", personal=personal, terms=terms, hidden=hidden)

    servers: dict[str, Redactor | None] = {}
    tools: dict[tuple[str, str], Redactor | None] = {}
    for one in settings.servers:
        whole = said.level if one.redaction is None else one.redaction
        if one.redaction is not None or one.hidden is not None:
            servers[one.id] = made(whole, wanted.servers.get(one.id, wanted.default))
        every = one.tools.get("*")
        for name, rule in one.tools.items():
            words = (rule.redaction, rule.hidden, every and every.redaction, every and every.hidden)
            if any(word is not None for word in words):
                level = rule.redaction or (every and every.redaction) or whole
                tools[one.id, name] = made(level, wanted.of(one.id, name))
    return Rules(made(said.level, wanted.default), servers, tools)


def said_of(settings: Settings, key: bytes) -> Clean:
    """What cleans that which servers say outside any call."""
    return Redact(redaction_of(settings, key)).said


def wanted_of(settings: Settings) -> Wanted:
    """Where what nobody sees is taken out."""
    servers = settings.servers
    return Wanted(
        settings.redaction.hidden == "remove",
        {one.id: one.hidden == "remove" for one in servers if one.hidden is not None},
        {
            (one.id, name): rule.hidden == "remove"
            for one in servers
            for name, rule in one.tools.items()
            if rule.hidden is not None
        },
    )


def size_of(settings: Settings) -> Size:
    """How large any result may be."""
    servers = settings.servers
    return Size(
        settings.limits.server_frame_bytes,
        {one.id: one.result_bytes for one in servers if one.result_bytes is not None},
        {
            (one.id, name): rule.result_bytes
            for one in servers
            for name, rule in one.tools.items()
            if rule.result_bytes is not None
        },
    )
