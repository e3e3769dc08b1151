"""`Telemetry`: kernel hooks that export sampled OpenTelemetry spans and metrics of calls by OTLP and send `traceparent` to servers.

Theory. Telemetry is hooks of the kernel (`kernel.Hooks`): around every call, around its dispatch, and at its end; there are none
where telemetry is off, and nothing of the extra is imported then. Spans are begun where they begin, because a server has to be told its
parent (`params._meta.traceparent`), and ended all together when it is known how the call ended: so a call that was
refused, held or broken is always exported, and of the others the share that `sample` says, or that the caller's own
trace says.

What leaves names methods, servers and tools that are registered, revisions, and reasons: no argument, no
result, no message, no name that a caller made up, and of a session a digest. `tracestate` and `baggage` of callers go to no
server. Names: OpenTelemetry's semantic conventions for MCP (Development), and `gatewright.*`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.call_policy import Dispatch
from gatewright.config import Settings
from gatewright.kernel import Further, Hooks
from gatewright.patterns import Pattern
from gatewright.servers.task_subject import FOLLOWED

__all__ = ["Numbers", "Telemetry", "Untold", "telemetry_of"]

Numbers = Callable[[], Mapping[str, Any]]
"""What the gateway counts (`telemetry.endpoint.Numbers`)."""

log = logging.getLogger("gatewright.telemetry")

_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_PARENT = Pattern(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_OTHER = "_other"
"""What stands for names that are in no catalogue: callers could make up any number of them."""
_CLOSE_S = 5


class _Flight:
    """One call on its way: its span, and when it was taken to its owner and came back."""

    __slots__ = ("back_ns", "began", "client", "left_ns", "sampled", "server")

    def __init__(self, server: Any, sampled: bool) -> None:
        self.server = server
        self.sampled = sampled
        self.began = time.perf_counter()
        self.client: Any = None
        self.left_ns = self.back_ns = 0


class Untold:
    """Telemetry that is switched off: no hooks, nothing exported."""

    hooks = Hooks()

    def observe(self, numbers: Numbers) -> None:
        """Nobody asks for them."""

    async def close(self) -> None:
        """Nothing is left to do."""


class Telemetry:
    """Exports until `close`. Needs the extra `otel`."""

    def __init__(self, settings: Settings, version: str) -> None:
        """Raises `ImportError` without the extra."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415 - an extra
            OTLPMetricExporter,
        )
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - an extra
            OTLPSpanExporter,
        )
        from opentelemetry.sdk import metrics, resources, trace  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.metrics.export import (  # noqa: PLC0415 - an extra
            PeriodicExportingMetricReader,
        )
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON  # noqa: PLC0415 - an extra

        said, name = settings.telemetry, settings.gateway.name
        about = resources.Resource.create({"service.name": name, "service.version": version})
        base = said.endpoint.rstrip("/")
        spans = OTLPSpanExporter(endpoint=f"{base}/v1/traces" if base else None)
        points = OTLPMetricExporter(endpoint=f"{base}/v1/metrics" if base else None)
        reader = PeriodicExportingMetricReader(points, said.interval_s * 1000)
        self._traces = trace.TracerProvider(sampler=ALWAYS_ON, resource=about)
        self._traces.add_span_processor(BatchSpanProcessor(spans))
        self._metrics = metrics.MeterProvider([reader], resource=about)
        self._tracer = self._traces.get_tracer("gatewright", version)
        self._share = int(said.sample * 2**64)
        self._flights: dict[str, _Flight] = {}
        self._meter = self._metrics.get_meter("gatewright", version)
        self._meters(self._meter)
        self.hooks = Hooks((self._around,), (self._sent,), (self._ended,))

    def _meters(self, meter: Any) -> None:
        def histogram(of: str, text: str) -> Any:
            return meter.create_histogram(
                of, unit="s", description=text, explicit_bucket_boundaries_advisory=_BUCKETS
            )

        self._served = histogram(
            "mcp.server.operation.duration", "Calls, as their callers see them."
        )
        self._asked = histogram("mcp.client.operation.duration", "Calls, as servers answer them.")
        self._waited = histogram("gatewright.approval.wait", "How long calls waited for a person.")
        self._decided = meter.create_counter("gatewright.decisions")

    def observe(self, numbers: Numbers) -> None:
        """Export what the gateway counts as well."""
        from opentelemetry.metrics import Observation  # noqa: PLC0415 - an extra

        meter = self._meter

        def gauge(of: str, key: str) -> None:
            meter.create_observable_gauge(of, [lambda _: [Observation(numbers()[key])]])

        def states(_: Any) -> list[Any]:
            found = numbers()["servers"].items()
            return [
                Observation(1, {"gatewright.server.id": one, "state": state})
                for one, state in found
            ]

        gauge("gatewright.approvals.pending", "waiting")
        gauge("gatewright.audit.lag", "audit_lag")
        meter.create_observable_gauge("gatewright.server.state", [states])

    async def close(self) -> None:
        """Export what is left, for some seconds at most."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._traces.force_flush(_CLOSE_S * 1000)
        self._traces.shutdown()
        self._metrics.shutdown(_CLOSE_S * 1000)

    # -- hooks of the kernel -------------------------------------------------------------------------

    def _around(self, call: Call, back: Back, further: Further) -> Coroutine[Any, Any, Outcome]:
        self._began(call)
        return further(call, back)

    def _sent(self, inner: Dispatch) -> Dispatch:
        async def seen(call: Call, back: Back) -> Outcome:
            flight = self._flights.get(call.id)
            if flight is None or call.target is None:
                return await inner(call, back)
            return await self._taken(flight, inner, call, back)

        return seen

    def _began(self, call: Call) -> None:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra

        parent, sampled = _parent(call)
        span = self._tracer.start_span(call.method, context=parent, kind=SpanKind.SERVER)
        if sampled is None:
            # The same share of the same traces as OpenTelemetry's own sampler by trace id.
            sampled = (span.get_span_context().trace_id & (2**64 - 1)) < self._share
        self._flights[call.id] = _Flight(span, sampled)

    def _ended(self, call: Call, outcome: Outcome, spent_s: float | None) -> None:
        try:
            self._note_end(call, outcome)
        except Exception:
            log.exception("call %s could not be told to telemetry", call.id)

    def _note_end(self, call: Call, outcome: Outcome) -> None:
        flight = self._flights.pop(call.id, None)
        if flight is None:
            return
        about, error = _about(call), _error(outcome)
        spent = time.perf_counter() - flight.began
        self._served.record(spent, {**about, **error})
        decision = "deny" if type(outcome) is Refusal else "allow"
        if call.tool is not None:
            risk = call.tool.security.risk_level
            told = {"decision": decision, "server": call.tool.target.server, "tool_class": risk}
            self._decided.add(1, told)
        waited_ms = call.facts.get("waited_ms")
        if waited_ms is not None:
            self._waited.record(waited_ms / 1000, {"decision": decision})
        # A span that is never ended is never exported (decision 0025).
        if flight.sampled or error or waited_ms is not None:
            self._finish(flight, call, about, error)

    # -- inside --------------------------------------------------------------------------------------

    async def _taken(self, flight: _Flight, inner: Dispatch, call: Call, back: Back) -> Outcome:
        from opentelemetry.trace import SpanKind, set_span_in_context  # noqa: PLC0415 - an extra

        about = _about(call)
        span = self._tracer.start_span(
            _name(call), set_span_in_context(flight.server), SpanKind.CLIENT, about
        )
        flight.client, flight.left_ns = span, time.time_ns()
        began = time.perf_counter()
        outcome: Outcome = Failure("cancelled")  # where `inner` is cancelled and returns nothing
        try:
            outcome = await inner(_told(call, span.get_span_context(), flight.sampled), back)
            return outcome
        finally:
            error = _error(outcome)
            self._asked.record(time.perf_counter() - began, {**about, **error})
            flight.back_ns = time.time_ns()
            span.set_attributes(error)
            _mark(span, error)

    def _finish(
        self, flight: _Flight, call: Call, about: Mapping[str, Any], error: Mapping[str, Any]
    ) -> None:
        """Let all spans of a call go out."""
        span = flight.server
        span.update_name(_name(call))
        span.set_attributes({**about, **error, **_more(call)})
        _mark(span, error)
        now = time.time_ns()
        self._policy(flight, call, now)
        if flight.client is not None:
            flight.client.end(flight.back_ns or now)
        span.end(now)

    def _policy(self, flight: _Flight, call: Call, now: int) -> None:
        """What the gates took, and of that a person."""
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 - an extra

        until = flight.left_ns or now
        within = set_span_in_context(flight.server)
        began = flight.server.start_time
        policy = self._tracer.start_span("gatewright.policy", within, start_time=began)
        waited_ms = call.facts.get("waited_ms")
        if waited_ms is not None:
            at = max(began, until - int(waited_ms * 1_000_000))
            within = set_span_in_context(policy)
            held = self._tracer.start_span("gatewright.approval", within, start_time=at)
            held.set_attribute("gatewright.approval.id", str(call.facts.get("approval", "")))
            held.end(until)
        policy.end(until)


def telemetry_of(settings: Settings, version: str) -> Telemetry | Untold:
    """What the configuration wants."""
    return Telemetry(settings, version) if settings.telemetry.enabled else Untold()


def _parent(call: Call) -> tuple[Any, bool | None]:
    """The span that a caller says it is in, as a context, and whether that is sampled; else None twice."""
    meta = call.params.get("_meta")
    text = meta.get("traceparent") if isinstance(meta, dict) else None
    found = _PARENT.fullmatch(text) if isinstance(text, str) else None
    if found is None or not (found[1].strip("0") and found[2].strip("0")):
        return None, None  # all zeros is nobody (W3C Trace Context)
    from opentelemetry.trace import (  # noqa: PLC0415 - an extra
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    flags = TraceFlags(int(found[3], 16) & TraceFlags.SAMPLED)
    remote = SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(remote)), bool(flags)


def _told(call: Call, span: Any, sampled: bool) -> Call:
    """The call with the parent that its server is to know, and with nothing else of the caller's trace."""
    parent = f"00-{span.trace_id:032x}-{span.span_id:016x}-{'01' if sampled else '00'}"
    meta = call.params.get("_meta")
    kept = meta if isinstance(meta, dict) else {}
    rest = {key: one for key, one in kept.items() if key not in ("tracestate", "baggage")}
    return replace(call, params={**call.params, "_meta": {**rest, "traceparent": parent}})


def _name(call: Call) -> str:
    named = _target(call)
    plain = named is None or call.kind == "resource" or call.method in FOLLOWED
    return call.method if plain else f"{call.method} {named}"


def _target(call: Call) -> str | None:
    if call.target is not None:
        return call.target.name
    return _OTHER if call.kind in ("tool", "prompt") else None


def _about(call: Call) -> dict[str, Any]:
    """What metrics and spans say of a call: few values, none of which a caller chose."""
    known = call.target is not None or call.kind != "method"
    found: dict[str, Any] = {"mcp.method.name": call.method if known else _OTHER}
    if call.kind == "tool":
        found |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": _target(call)}
    elif call.kind == "prompt":
        found["gen_ai.prompt.name"] = _target(call)
    if call.target is not None:
        found["gatewright.server.id"] = call.target.server
    return found


def _more(call: Call) -> dict[str, Any]:
    """What spans alone say: too many values for a metric."""
    found = {
        "mcp.protocol.version": call.client.revision,
        "network.transport": "pipe" if call.door == "stdio" else "tcp",
        "gatewright.agent.id": call.caller.id,
        "gatewright.trace_id": call.trace_id,
        "gatewright.call": call.id,
    }
    if call.session is not None:  # which lets in who knows it
        found["mcp.session.id"] = sha256(call.session.encode()).hexdigest()[:16]
    return found


def _error(outcome: Outcome) -> dict[str, str]:
    if type(outcome) is Answer:
        return {"error.type": "tool_error"} if outcome.tool_error else {}
    return {"error.type": outcome.reason}  # type: ignore[union-attr]


def _mark(span: Any, error: Mapping[str, Any]) -> None:
    if error:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - an extra

        span.set_status(Status(StatusCode.ERROR))
