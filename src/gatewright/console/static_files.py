"""`StaticFiles`: the console's styles, scripts and images, read once: content, media type and URL with digest. Answers no HTTP request."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

__all__ = ["StaticFile", "StaticFiles"]

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(NamedTuple):
    """One file."""

    content: bytes
    type: str
    digest: str


class StaticFiles:
    """All files of `static/` with a type that browsers are sent."""

    def __init__(self) -> None:
        self._files: dict[str, StaticFile] = {}
        for one in files("gatewright.console").joinpath("static").iterdir():
            suffix = "." + one.name.rpartition(".")[2]
            if suffix in _TYPES:
                content = one.read_bytes()
                digest = sha256(content).hexdigest()[:16]
                self._files[one.name] = StaticFile(content, _TYPES[suffix], digest)

    def get(self, name: str) -> StaticFile | None:
        """The file of that name."""
        return self._files.get(name)

    def url(self, name: str) -> str:
        """Its address. Raises `KeyError`."""
        return f"/static/{name}?v={self._files[name].digest}"
