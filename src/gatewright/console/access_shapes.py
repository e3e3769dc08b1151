"""Request types of the console's access API: a change of an agent's access, and which change is to be undone."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.access.grants import Key

__all__ = ["AccessChange", "AccessUndo"]


class AccessChange(msgspec.Struct, frozen=True, kw_only=True):
    """What is to hold for an agent on a tool, or on a whole server where none is named."""

    agent: Annotated[str, Meta(min_length=1, max_length=256)]
    server: Annotated[str, Meta(min_length=1, max_length=256)]
    tool: Annotated[str, Meta(max_length=256)] = ""
    do: Literal["allow", "deny", "revoke"] = "allow"
    """`revoke` takes back what was said about exactly this, wherever it stands."""
    why: Annotated[str, Meta(max_length=2000)] = ""
    """The justification, which the record repeats; a change needs one."""
    expires: Annotated[str, Meta(max_length=64)] = ""
    """`12h` or `30d` from now, or a date; never where it is left out."""
    version: Annotated[str, Meta(max_length=64)] = ""
    """That of the table that was looked at; to save needs it."""

    @property
    def key(self) -> Key:
        """What a word is about."""
        return self.agent, self.server, self.tool or None

    @property
    def words(self) -> str:
        """What holds once it is saved."""
        what = f"{self.server}/{self.tool}" if self.tool else self.server
        verb = {"allow": "may use", "deny": "may not use"}.get(self.do)
        if verb is None:
            return f"what was said of {self.agent} on {what} is taken back"
        return f"{self.agent} {verb} {what}"


class AccessUndo(msgspec.Struct, frozen=True, kw_only=True):
    """Which change is to be taken back."""

    of: Annotated[str, Meta(max_length=64)] = ""
    """What tells it from others, as a page has it; the last one where it is left out."""
