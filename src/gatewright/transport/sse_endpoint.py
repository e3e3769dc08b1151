"""Reads the `endpoint` event of HTTP+SSE: the URL that messages are posted to, refused unless of the stream's own origin."""

from __future__ import annotations

from yarl import URL

__all__ = ["ENDPOINT_CHARS", "endpoint_of"]

ENDPOINT_CHARS = 8192


def endpoint_of(stream: URL, text: str) -> str:
    """The URL that is named. Raises `ValueError`, which says of what kind it is."""
    if len(text) > ENDPOINT_CHARS:  # URLs are remembered by the library, in whatever length
        raise ValueError(f"of more than {ENDPOINT_CHARS} characters")
    try:
        url = stream.join(URL(text))
        same = url.origin() == stream.origin()
    except ValueError:
        same = False
    if not same:
        raise ValueError("of another origin")
    return str(url)
