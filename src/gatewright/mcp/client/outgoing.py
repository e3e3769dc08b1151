"""Rewrites requests for one server connection: params in its revision's form, MGP trace id, own request id and progress token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Call, Client
from gatewright.mcp.protocol.eras import legacy_params, modern_params
from gatewright.mcp.protocol.mcp_client import Hello, offered, relayed
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import is_modern

__all__ = ["Outgoing", "Question", "question"]


class Question(msgspec.Struct, tag_field="jsonrpc", tag="2.0", gc=False):
    """A request under an id of our own, as JSON."""

    id: int
    method: str
    params: dict[str, Any]


def question(ident: int, method: str, params: dict[str, Any]) -> bytes:
    """A request frame under an id of our own."""
    return jsonrpc.encode(Question(ident, method, params))


class Outgoing:
    """Of one connection. `info` is what we call ourselves, `face` what of MGP we show there."""

    def __init__(self, info: Mapping[str, Any], face: Face | None) -> None:
        self.always = False
        """Whether all params need `adapted`. Otherwise only those do that have a member `_meta` or `trace_id`."""
        self._info = dict(info)
        self._face = face
        self._modern: Hello | None = None
        self._traces = self._mgp = False
        self.streams = False
        """Whether the server streams results (MGP §12)."""
        # The gateway's own requests offer nothing but MGP: nobody could answer what they led to.
        self._ours = Client("", offered({}, face))
        self._theirs: tuple[Client, Client] | None = None

    def meet(self, hello: Hello) -> None:
        """Learn who is asked."""
        self._modern = hello if hello.modern else None
        extensions = () if hello.mgp is None else hello.mgp.extensions
        self._mgp, self.streams = hello.mgp is not None, "streaming" in extensions
        self._traces = "audit" in extensions
        self.always = hello.modern or self._traces

    def adapted(
        self, params: dict[str, Any], call: Call | None, token: int
    ) -> tuple[dict[str, Any], Any]:
        """The params as the server is to see them, with `token` for the caller's own progress token, which stands beside them."""
        if call is None:
            client = self._ours
        else:
            client = call.client
            params = self._traced(params, call)
            if "_mgp" in params:
                params = self._extended(params, client)
        if self._modern is not None:
            shown = self._as_theirs(client)
            params = modern_params(params, shown, revision=self._modern.revision, info=self._info)
        elif "_meta" in params and is_modern(client.revision):
            params = legacy_params(params)
        meta = params.get("_meta")
        # Callers choose tokens by themselves, and two may choose one: towards the server each request has its own number.
        if type(meta) is dict and "progressToken" in meta:
            theirs = meta["progressToken"]
            return {**params, "_meta": {**meta, "progressToken": token}}, theirs
        return params, None

    def _traced(self, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """The MGP trace id goes to servers that negotiated `audit` and to nobody else (MGP §6.5).

        A plain client's own member of that name is just an unknown member, and passes.
        """
        if self._traces:
            return {**params, "trace_id": call.trace_id}
        if call.client.mgp is not None and "trace_id" in params:
            return {key: value for key, value in params.items() if key != "trace_id"}
        return params

    def _extended(self, params: dict[str, Any], client: Client) -> dict[str, Any]:
        """MGP's own member goes to servers that speak MGP; that it wants a stream, where client and server both negotiated those."""
        if not self._mgp:
            return {key: value for key, value in params.items() if key != "_mgp"}
        said = params["_mgp"]
        streams = self.streams and client.mgp is not None and "streaming" in client.mgp.extensions
        if streams or type(said) is not dict or "stream" not in said:
            return params
        return {**params, "_mgp": {key: value for key, value in said.items() if key != "stream"}}

    def _as_theirs(self, client: Client) -> Client:
        """The caller as a modern server may know it; the last one is remembered."""
        if client is self._ours:
            return client
        known = self._theirs
        if known is not None and known[0] is client:
            return known[1]
        shown = Client(
            client.revision,
            relayed(client.capabilities, self._face),
            client.info,
            None,
            client.log_level,
        )
        self._theirs = client, shown
        return shown
