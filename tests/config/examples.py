"""The examples of the configuration reference, docs/configuration.md and docs/configuration, by their page."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["EXAMPLES", "PAGES", "VARIABLES"]

_DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)

PAGES = [_DOCS / "configuration.md", *sorted((_DOCS / "configuration").glob("*.md"))]
EXAMPLES = [
    (page.stem, text) for page in PAGES for text in _BLOCK.findall(page.read_text(encoding="utf-8"))
]
"""(page, text) of each block of TOML."""
VARIABLES = {"TEAM": "t", "CEREBRAS_API_KEY": "k"}
"""The environment variables that they name without a default."""
