"""An OTLP/HTTP receiver of this process, on localhost: what it was sent, decoded."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Collector", "attributes", "collecting"]


class Collector:
    """`url` is where to send to."""

    def __init__(self) -> None:
        self.url = ""
        self.bodies: list[bytes] = []
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        self._lock = threading.Lock()

    def take(self, path: str, body: bytes) -> None:
        """Decode one export."""
        with self._lock:
            self.bodies.append(body)
            if path == "/v1/traces":
                traces = ExportTraceServiceRequest.FromString(body)
                scopes = [one for each in traces.resource_spans for one in each.scope_spans]
                self.spans += [span for scope in scopes for span in scope.spans]
            else:
                points = ExportMetricsServiceRequest.FromString(body)
                inner = [one for each in points.resource_metrics for one in each.scope_metrics]
                self.metrics += [metric for scope in inner for metric in scope.metrics]

    def points(self, name: str) -> list[Any]:
        """The last points of a metric."""
        found = [one for one in self.metrics if one.name == name]
        if not found:
            return []
        last = found[-1]
        return list(getattr(last, last.WhichOneof("data")).data_points)


@contextmanager
def collecting() -> Iterator[Collector]:
    """A receiver, until the block ends."""
    made = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            made.take(self.path, body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def attributes(of: Any) -> dict[str, Any]:
    """The attributes of a span or a point."""
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value")
        for one in of.attributes
    }
