"""What a sample of a configuration is, and the made-up secrets that samples hold."""

from __future__ import annotations

import io
import zipfile

import msgspec

from gatewright.hosts.model import Server, Suggestion

__all__ = ["SECRETS", "Sample", "zipped"]

SECRETS = (
    "ghp_Zq8Xw7Vu6Ts5Rq4Po3Nm2Lk1Ji0Hg9Fe8Dc",
    "hunter2canary",
    "sk-live-9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "letmein-canary",
)
"""Everything secret that the samples hold: by form, and by the place it stands in."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A text, where it stood, and what is read from it. `left` are ids that are left out, with the level."""

    text: str
    form: str
    servers: tuple[Server, ...]
    host: str = ""
    workspace: str | None = None
    suggestions: tuple[Suggestion, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


def zipped(files: dict[str, str]) -> bytes:
    """A bundle of these files."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in files.items():
            bundle.writestr(name, text)
    return held.getvalue()
