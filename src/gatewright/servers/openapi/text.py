"""Parses JSON or YAML text of an OpenAPI document to JSON values, within bounds."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from gatewright.mcp.wire import jsonrpc

__all__ = ["BadDocument", "value_of"]

_NODES = 500_000
_DEEPEST = 200
_TOO_MUCH = "the document is too large or too deep, or refers to itself"


class BadDocument(ValueError):  # noqa: N818 - what it is, not what is wrong with us
    """It is no document that can be used. The text says why."""


def value_of(text: bytes) -> Any:
    """The value of a JSON or YAML text. Raises `BadDocument`. YAML may take seconds a megabyte."""
    try:
        return jsonrpc.decode_whole(text)
    except ValueError:
        pass
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - most documents are JSON

    try:
        loaded = _yaml().load(text.decode("utf-8-sig"))
    except BadDocument:
        raise
    except (YAMLError, UnicodeDecodeError, ValueError, RecursionError) as problem:
        raise BadDocument(f"it is neither JSON nor YAML: {str(problem)[:300]}") from None
    return _Plain().of(loaded, 0)


def _yaml() -> Any:
    """A reader that counts what merge keys (`<<`) bring together: a list of aliases of such lists grows with each
    level by as much as it is long, before there is any value whose nodes could be counted."""
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.constructor import SafeConstructor  # noqa: PLC0415
    from ruamel.yaml.nodes import MappingNode, SequenceNode  # noqa: PLC0415

    class Counting(SafeConstructor):
        merged = 0

        def flatten_mapping(self, node: Any) -> Any:
            for key, value in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    for one in value.value if isinstance(value, SequenceNode) else [value]:
                        self._count(one)
            return super().flatten_mapping(node)

        def _count(self, node: Any) -> None:
            if isinstance(node, MappingNode):
                self.flatten_mapping(node)
                self.merged += len(node.value)
            if self.merged > _NODES:
                raise BadDocument(_TOO_MUCH)

    reader = YAML(typ="safe", pure=True)
    reader.Constructor = Counting
    return reader


class _Plain:
    """YAML's values as JSON has them. Aliases make a small text a huge value, so its nodes are counted."""

    def __init__(self) -> None:
        self._nodes = 0

    def of(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > _NODES or depth > _DEEPEST:
            raise BadDocument(_TOO_MUCH)
        if isinstance(value, dict):
            return {str(key): self.of(one, depth + 1) for key, one in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.of(one, depth + 1) for one in value]
        if isinstance(value, dt.date | dt.datetime):
            return value.isoformat()
        if isinstance(value, float) and not math.isfinite(value):
            raise BadDocument("a number in it is not finite")
        return value if value is None or isinstance(value, bool | int | float | str) else str(value)
