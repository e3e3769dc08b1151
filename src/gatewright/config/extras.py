"""Finds settings whose optional dependency (extra) is not installed, and an embedder without the `url`, `model` or `path` it needs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from gatewright.config.model import Settings

__all__ = ["lacking"]

_NEEDS: dict[str, tuple[str, ...]] = {
    "built-in": (),
    "endpoint": ("url", "model"),
    "model": ("path",),
}


def lacking(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Key, what is wrong, and what to do."""
    absent = "the extra that this needs is not installed"
    if settings.telemetry.enabled and find_spec("opentelemetry") is None:
        yield "telemetry.enabled", absent, "pip install 'gatewright[otel]'"
    said, key = settings.discovery.embedder, "discovery.embedder.type"
    for name in _NEEDS[said.type]:
        if not getattr(said, name):
            yield key, f'type = "{said.type}" needs {name}', f"write {name} = …"
    if said.type == "model" and not all(map(find_spec, ("onnxruntime", "tokenizers"))):
        yield key, absent, "pip install 'gatewright[embeddings]'"
