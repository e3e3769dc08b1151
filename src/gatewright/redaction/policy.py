"""Builds redaction and sanitize rules from the settings; `NotificationCleaner` redacts servers' notifications and adopts new settings."""

from __future__ import annotations

from typing import Any

from gatewright.config import RedactionLevel, Settings
from gatewright.config.held_secrets import own_secrets
from gatewright.redaction.filter import Redact, Rules
from gatewright.redaction.sanitize_gate import Wanted
from gatewright.secret_scanning import Redactor
from gatewright.servers.notifications import Clean

__all__ = ["NotificationCleaner", "redaction_of", "wanted_of"]


def redaction_of(settings: Settings, key: bytes) -> Rules:
    """Which policy holds for what. `key` (32 bytes) makes the marks of one gateway its own."""
    said, wanted, own = settings.redaction, wanted_of(settings), own_secrets(settings.servers)

    def made(level: RedactionLevel, hidden: bool) -> Redactor | None:
        if level == "off" and not hidden:
            return None
        personal = frozenset(said.personal if level == "personal" else ())
        terms = () if level == "off" else said.terms
        return Redactor(
            key,
            secrets=level != "off",
            personal=personal,
            terms=terms,
            hidden=hidden,
            own=() if level == "off" else own,
            rules=() if level == "off" else settings.redaction_rules,
        )

    servers: dict[str, Redactor | None] = {}
    tools: dict[tuple[str, str], Redactor | None] = {}
    for one in settings.servers:
        whole = said.level if one.redaction is None else one.redaction
        if one.redaction is not None or one.hidden is not None:
            servers[one.id] = made(whole, wanted.servers.get(one.id, wanted.default))
        for name, rule in one.tools.items():
            if (rule.redaction, rule.hidden) != (None, None):
                level = rule.redaction or whole
                tools[one.id, name] = made(level, wanted.of(one.id, name))
    return Rules(made(said.level, wanted.default), servers, tools)


class NotificationCleaner:
    """Cleans what servers say outside any call, by the settings of now. `key` as for `redaction_of`."""

    def __init__(self, settings: Settings, key: bytes) -> None:
        self._key = key
        self.adopt(settings)

    def adopt(self, settings: Settings) -> None:
        """Go on with these settings."""
        self._clean: Clean = Redact(redaction_of(settings, self._key)).said

    def clean(self, server: str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """The params of one notification as they may be told (`Clean`)."""
        return self._clean(server, method, params)


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
