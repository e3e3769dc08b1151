"""Reads the definitions of `corpora/`: a class, a name, a description and parameters, each in a column, or a whole definition as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["definitions"]


def definitions(file: str) -> Iterator[dict[str, Any]]:
    """The definitions of a file. Parameters are `name` or `name=description`, with bars between them."""
    for line in (Path(__file__).parent / "corpora" / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("{"):
            yield {key: one for key, one in json.loads(line).items() if key != "class"}
            continue
        _, name, description, *parameters = line.split("\t")
        properties = {}
        for one in "".join(parameters).split("|"):
            key, _, told = one.partition("=")
            properties[key] = {"type": "string"} | ({"description": told} if told else {})
        schema = {"type": "object", "properties": properties}
        yield {"name": name, "description": description, "inputSchema": schema}
