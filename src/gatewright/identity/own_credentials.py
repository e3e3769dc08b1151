"""Maps the process's own credentials to callers: operator token, tokens of local hosts, and the key of a gh-aw configuration (`gh_aw_form`)."""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.call import Caller
from gatewright.config import Settings
from gatewright.identity.gate import LOCAL

__all__ = ["own_callers"]


def own_callers(
    tokens: Mapping[str, str], settings: Settings, hosts: Mapping[str, Caller]
) -> dict[str, Caller]:
    """Who shows which. `tokens` are those of the `operator` and of a `local` host, `hosts` the credentials of known hosts. An
    empty one lets nobody in."""
    form = settings.form
    found = {
        tokens["operator"]: Caller("local", "operator"),
        tokens["local"]: LOCAL,
        **hosts,
        **({} if form is None else {form.key: Caller("gateway-client", "agent")}),
    }
    found.pop("", None)
    return found
