"""Client connection to an HTTP API: reads its OpenAPI document, decides where calls may go, lists operations as tools, calls them.

For everything above it is a server like any other: it says hello (with the title of the document), lists
tools, answers calls, can be restarted (which reads the document anew) and has the same limits. What it
knows of a call is its arguments; a caller's credentials never get here.

Where calls go is the operator's `base_url`. Without one the document's own word counts only as far as
it can do no harm: the origin that it was fetched from, or, for a file, a public address.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from gatewright.call import Failure
from gatewright.command_text import to_type
from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.client.endpoint import ApiPlace, Endpoint
from gatewright.mcp.client.link import Link, ServerFailed, Sink
from gatewright.mcp.client.pending_requests import PendingRequest, Reply
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import LATEST_LEGACY
from gatewright.servers.openapi.document import Api, server_url
from gatewright.servers.openapi.reader import Known, read
from gatewright.servers.openapi.request import BadArgument, Prepared, prepare
from gatewright.servers.openapi.result import Steps, TooLarge, result_of
from gatewright.servers.openapi.text import BadDocument
from gatewright.transport.api_client import ApiAnswer, ApiClient, ApiFailed
from gatewright.transport.slices import in_slices

__all__ = ["DOCUMENT_BYTES", "ApiLink", "connect_api"]

log = logging.getLogger("gatewright.servers")

DOCUMENT_BYTES = 8 * 1024 * 1024
"""The longest document that is read."""

_FETCH_S = 15.0
_LEFT_OUT = 100
"""Operations whose absence is said one by one."""
_URL_CHARS = 2048
_REASONS = {
    "unreachable": "upstream_unavailable",
    "broken": "upstream_error",
    "too_large": "upstream_error",
}


async def connect_api(
    spec: Endpoint, info: Mapping[str, Any], sink: Sink, authorizer: Authorizer | None
) -> ApiLink:
    """A link that has read its document. Raises `ServerFailed`."""
    place = spec.api
    if place is None:
        raise ServerFailed("no document is configured")
    # Headers of the configuration are for the API: a document that lies elsewhere is fetched without them.
    headers = spec.headers if _one_origin(place.document, place.base_url) else {}
    text = await _document(place.document, headers)
    if place.digest and hashlib.sha256(text).hexdigest() != place.digest:
        raise ServerFailed(
            f"{place.document} is not as it was accepted with the configuration that names it; read it, then "
            f"`{to_type('config trust')}` in that folder"
        )
    try:
        known = await read(text, {name.lower() for name in spec.headers})
    except BadDocument as problem:
        raise ServerFailed(f"{place.document}: {problem}") from None
    api = known.api
    for why in api.left_out[:_LEFT_OUT]:
        log.warning("server %s: left out of its document: %s", spec.id, why)
    if len(api.left_out) > _LEFT_OUT:
        more = len(api.left_out) - _LEFT_OUT
        log.warning("server %s: %d more operations are left out of its document", spec.id, more)
    base, outside = _base(place, api)
    client = ApiClient(
        outside=outside, most_bytes=spec.limits.frame_bytes, connections=min(spec.in_flight, 64)
    )
    return ApiLink(spec, info, sink, known, base, client, authorizer)


class ApiLink(Link):
    """See the module's text. `base` is where paths begin; `client` is the link's own."""

    def __init__(  # noqa: PLR0917 - each is another part
        self,
        spec: Endpoint,
        info: Mapping[str, Any],
        sink: Sink,
        known: Known,
        base: str,
        client: ApiClient,
        authorizer: Authorizer | None = None,
    ) -> None:
        super().__init__(spec, info, sink)
        api = self._api = known.api
        self._base = base.rstrip("/")
        self._client = client
        self._authorizer = authorizer
        self._operations = {one.name: one for one in api.operations}
        self._listed = bytes(known.listed)
        self._calls: set[asyncio.Task[None]] = set()
        self.hello = Hello(
            LATEST_LEGACY,
            {"tools": {}},
            {"name": api.title, "version": api.version},
            api.description or None,
        )

    # -- life

    def close(self, reason: str) -> None:
        """End what is in flight. Idempotent."""
        self._retire(reason)
        stopped = Failure("upstream_unavailable", f"server {self.spec.id} was stopped")
        for exchange in self._pending.values():
            exchange.settle(stopped)
        for one in list(self._calls):
            one.cancel()

    async def stop(self, grace_s: float) -> None:
        """Like `close`, after what is in flight had its time."""
        self._retire("stopped")
        if self._calls:
            await asyncio.wait(self._calls, timeout=grace_s)
        self.close("stopped")
        await self._client.close()

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """An API is told nothing."""

    def _reply(self, frame: bytes) -> None:
        """An API asks nothing."""

    # -- calls

    def _send(self, exchange: PendingRequest, method: str, params: dict[str, Any]) -> Reply | None:
        if method == "tools/list":
            return jsonrpc.Response(b"0", self._listed)
        operation = self._operations.get(str(params.get("name")))
        if method != "tools/call" or operation is None:
            return Failure("method_not_found", f"server {self.spec.id} has no {method}")
        arguments = params.get("arguments") or {}
        steps = prepare(self._api, operation, arguments, self._credentials())
        exchange.work = asking = self._loop.create_task(self._answer(exchange, steps))
        self._calls.add(asking)
        asking.add_done_callback(self._calls.discard)
        return None

    def _abandon(self, exchange: PendingRequest, reason: str) -> None:
        if exchange.work is not None:
            exchange.work.cancel()

    async def _answer(
        self, exchange: PendingRequest, steps: Generator[None, None, Prepared]
    ) -> None:
        """Make the request, ask the API and settle the exchange."""
        try:
            request = await in_slices(steps)
            result = await in_slices(self._result(await self._ask(request), request))
            exchange.settle(jsonrpc.Response(b"0", result))
        except BadArgument as problem:
            exchange.settle(Failure("invalid_args", str(problem)))
        except TooLarge:
            most = self.spec.limits.frame_bytes
            said = f"as a result the answer of the API would have more than {most} bytes; ask it for less"
            exchange.settle(Failure("upstream_error", said, {"limit_bytes": most}))
        except ApiFailed as problem:
            details = {} if problem.sent else {"sent": False}
            exchange.settle(Failure(_REASONS[problem.kind], str(problem), details))
        except Exception:
            log.exception("server %s: a call broke the link", self.spec.id)
            exchange.settle(Failure("internal"))

    def _credentials(self) -> Mapping[str, str]:
        return {} if self.spec.api is None else self.spec.api.credentials

    async def _ask(self, request: Prepared) -> ApiAnswer:
        headers = {**self.spec.headers, **request.headers}
        if self._authorizer is not None and "Authorization" not in headers:
            used = await self._authorizer.authorization()
            headers |= {} if used is None else {"Authorization": used}
        return await self._client.ask(
            request.method, self._base + request.target, headers, request.body
        )

    def _result(self, answer: ApiAnswer, request: Prepared) -> Steps:
        uri = self._base + request.target.partition("?")[0]
        most = self.spec.limits.frame_bytes
        return result_of(
            answer.status, answer.media, answer.body, location=answer.location, uri=uri, most=most
        )


async def _document(where: str, headers: Mapping[str, str]) -> bytes:
    """The text of a document, from a file or from where the operator says."""
    if not where.startswith(("http://", "https://")):
        try:
            return await asyncio.to_thread(_file, Path(where))
        except OSError as problem:
            raise ServerFailed(f"{where} cannot be read: {problem.strerror}") from None
    client = ApiClient(outside=False, most_bytes=DOCUMENT_BYTES)
    try:
        async with asyncio.timeout(_FETCH_S):
            answer = await client.ask("GET", where, {**headers, "Accept": "application/json, */*"})
    except TimeoutError:
        raise ServerFailed(f"{where} did not answer in {_FETCH_S:g} s") from None
    except ApiFailed as problem:
        raise ServerFailed(f"{where}: {problem}") from None
    finally:
        await client.close()
    if answer.status != 200:
        raise ServerFailed(f"{where} answered HTTP {answer.status}")
    return answer.body


def _one_origin(document: str, base: str) -> bool:
    """Whether what is meant for the API may be shown to where its document comes from."""
    return not base or urlsplit(document)[:2] == urlsplit(base)[:2]


def _file(path: Path) -> bytes:
    with path.open("rb") as file:
        text = file.read(DOCUMENT_BYTES + 1)
    if len(text) > DOCUMENT_BYTES:
        raise OSError(27, f"it is longer than {DOCUMENT_BYTES} bytes")
    return text


def _base(place: ApiPlace, api: Api) -> tuple[str, bool]:
    """Where calls go, and whether only public addresses may be asked."""
    if place.base_url:
        return place.base_url, False
    said = server_url(api)
    if len(said) > _URL_CHARS:  # `urljoin` remembers what it is given
        raise ServerFailed(
            f'the document sends calls to a URL of more than {_URL_CHARS} characters; write base_url = "https://…"'
        )
    fetched = place.document if place.document.startswith(("http://", "https://")) else ""
    base = urljoin(fetched, said)
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ServerFailed(
            f'the document sends calls to {said[:200]!r}; write base_url = "https://…"'
        )
    if not fetched:
        return base, True
    own = urlsplit(fetched)
    if (parts.scheme, parts.netloc) != (own.scheme, own.netloc):
        raise ServerFailed(
            f"the document comes from {own.netloc} and sends calls to {parts.netloc}; "
            f'if that is right, write base_url = "{parts.scheme}://{parts.netloc}…"'
        )
    return base, False
