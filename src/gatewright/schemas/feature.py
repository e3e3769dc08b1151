"""`SchemasFeature`: provides gate `schema` and filter `output_schema` over one cache of compiled schemas, reused on reload if unchanged."""

from __future__ import annotations

from gatewright.config import Settings
from gatewright.feature import Feature, Ground, Making, Rules
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.gate import Schema
from gatewright.schemas.offload import Fits
from gatewright.schemas.output_filter import OutputSchema

__all__ = ["SchemasFeature"]


class SchemasFeature(Feature):
    """Schemas are compiled anew only where their bounds changed."""

    name = "schemas"

    def __init__(self, ground: Ground) -> None:
        self._fits = Fits(ground.workers)

    def rules(self, settings: Settings) -> Rules:
        """Gate and filter."""
        return Rules(gates={"schema": self._gate}, filters={"output_schema": self._filter})

    def _gate(self, making: Making) -> Schema:
        settings, former = making.settings, making.former.get("schema")
        off = frozenset(one.id for one in settings.servers if one.schema == "off")
        bounds = settings.limits.schema_depth, settings.limits.subschemas
        if isinstance(former, Schema) and (former.off, former.compiled.bounds) == (off, bounds):
            return former
        return Schema(off, Compiled(*bounds), self._fits.check)

    def _filter(self, making: Making) -> OutputSchema:
        schema = making.gate("schema", Schema)
        return OutputSchema(schema.compiled, schema.off, self._fits.fit)
