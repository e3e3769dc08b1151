"""What the fuzzer of `benchmarks.openapi_fuzz` is told not to call a failure: a whole float for an integer.

OpenAPI 3.0 says integer and means a number without a fraction, JSON Schema 2020-12, in which tools are
written, takes 2.0 for one. The fuzzer knows both: it sends 2.0 as good input, and does not send it as bad
input, except where it breaks another branch of a `oneOf` than the one that takes it. There, and only there,
its verdict is asked again: a body is no bad input if it has a whole float in it and fits the tool's own
schema, by the fuzzer's own validator.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import schemathesis  # type: ignore[import-not-found]
from schemathesis.core.failures import AcceptedNegativeData  # type: ignore[import-not-found]

__all__ = ["SCHEMAS", "filter_failure"]

SCHEMAS = "schemas.json"
"""Tool name → input schema; the file is in the folder that the fuzzer is started in."""


@schemathesis.hook  # type: ignore[untyped-decorator]
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whether it is one."""
    del context, response
    if not isinstance(failure, AcceptedNegativeData) or not _has_whole_float(case.body):
        return True
    own = _schemas().get(case.operation.path.removeprefix("/tools/"))
    return own is None or not jsonschema_rs.Draft202012Validator(own).is_valid(case.body)


@cache
def _schemas() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(SCHEMAS).read_text(encoding="utf-8"))
    return found


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_whole_float(one) for one in value.values())
    if isinstance(value, list):
        return any(_has_whole_float(one) for one in value)
    return isinstance(value, float) and value.is_integer()
