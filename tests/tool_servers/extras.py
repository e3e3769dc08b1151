"""A server that says more than the protocol asks for, everywhere, and in ways JSON libraries lose.

    python tests/tool_servers/extras.py [--http PORT]

Unknown fields at every depth, content types nobody knows, numbers beyond 2^53 and beyond a double,
trailing zeros, nulls, escapes and empty keys. What it answers is written down as text and sent
character by character; what it was asked can be read back character by character.

Tools: `mirror` (its result embeds the params as they came), `everything`, `spaced`, `tool_error`,
`fail` (an error with data), `chatter` (notifications first), `hello_seen` (the params of
initialize), `notices_seen` (all notifications). Any unknown method with a slash is answered with its params.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.webwires import serve_http
from tests.tool_servers.wires import LEGACY, Call, Raw, RefusalError, serve_stdio

__all__ = ["HARD", "NUMBERS", "app", "main"]

NUMBERS = (
    "[9007199254740993,-9007199254740993,123456789012345678901234567890,1.10,1e400,-1E-400,"
    "0.1000000000000000055511151231257827,-0,-0.0,1E+2,100000000000000000000.0]"
)
# A value that is hard to keep: numbers, nulls, escapes, an empty key, keys out of order.
HARD = (
    '{"z":null,"numbers":' + NUMBERS + ',"":"empty key","a":[null,{"deep":{"deeper":[[],{}]}}],'
    '"escapes":"\\u00e9\\/\\ud83d\\ude00\\u0000","plain":"é😀","true":false}'
)


# What stands in a schema goes to a model: with a character that nobody sees the tool would be held back.
_SHOWN = HARD.replace("\\u0000", "")


def _with_hard(text: str) -> str:
    """`text` with every `@` that stands where a value stands replaced by the hard value, and every `#` by the one for schemas."""
    return text.replace(":@", ":" + HARD).replace(":#", ":" + _SHOWN)


CAPABILITIES = _with_hard(
    '{"tools":{"listChanged":true,"vendor":@},"resources":{"subscribe":true,"vendor":null},'
    '"prompts":{"vendor":1.10},"completions":{"vendor":@},"logging":{},'
    '"experimental":{"vendor/feature":@},"extensions":{"com.example/thing":{"level":1.0}},'
    '"vendor":@}'
)

_SCHEMA = _with_hard(
    '{"type":"object","x-vendor":#,"properties":{"value":{"description":"anything","x-hint":null,'
    '"examples":[1.10,9007199254740993]}},"$comment":"kept","additionalProperties":true}'
)


def _tool(name: str) -> str:
    return _with_hard(
        '{"vendorFirst":null,"name":"' + name + '","title":"The ' + name + '",'
        '"description":"Extras: ' + name + '","inputSchema":' + _SCHEMA + ","
        '"outputSchema":{"type":"object","x-vendor":#},'
        '"annotations":{"title":"A","readOnlyHint":true,"vendorHint":@,"nothing":null},'
        '"icons":[{"src":"data:,","mimeType":"image/png","sizes":["48x48"],"vendor":1.10}],'
        '"execution":{"taskSupport":"forbidden","vendor":@},'
        '"security":{"risk_level":"safe","vendor":@},"_meta":{"vendor/meta":@},"vendor":@}'
    )


TOOLS = (
    "mirror",
    "everything",
    "spaced",
    "tool_error",
    "fail",
    "chatter",
    "hello_seen",
    "notices_seen",
)

_RESULTS = {
    "tools/list": '{"vendor":@,"tools":[' + ",".join(map(_tool, TOOLS)) + '],"_meta":{"v/m":@}}',
    "resources/list": '{"resources":[{"uri":"extra:///a%20b?q=1#f","name":"a","size":9007199254740993,'
    '"annotations":{"audience":["user"],"priority":0.10,"vendor":@},"vendor":@,"_meta":{"v":@}}],'
    '"vendor":@}',
    "resources/templates/list": '{"resourceTemplates":[{"uriTemplate":"extra:///{+path}{?q*}",'
    '"name":"t","vendor":@}],"vendor":@}',
    "resources/read": '{"contents":[{"uri":"extra:///a%20b?q=1#f","text":"\\u00e9\\/","vendor":@,'
    '"_meta":{"v":@}}],"vendor":@}',
    "prompts/list": '{"prompts":[{"name":"p","arguments":[{"name":"x","required":false,"vendor":@}],'
    '"vendor":@}],"vendor":@}',
    "prompts/get": '{"description":"\\u0070","messages":[{"role":"user","vendor":@,'
    '"content":{"type":"text","text":"t","vendor":@}}],"vendor":@}',
    "completion/complete": '{"completion":{"values":["a"],"total":9007199254740993,"vendor":@},'
    '"vendor":@}',
    "logging/setLevel": "{}",
    "resources/subscribe": "{}",
    "resources/unsubscribe": "{}",
    "ping": "{}",
}
RESULTS = {method: Raw(_with_hard(text)) for method, text in _RESULTS.items()}

EVERYTHING = Raw(
    _with_hard(
        '{"content":[{"type":"text","text":"\\u0041\\/","vendor":@,"annotations":{"priority":0.50,'
        '"vendor":null},"_meta":{"v/x":@}},{"type":"hologram","payload":@,"text":null},'
        '{"type":"resource","resource":{"uri":"extra:///r","text":"x","vendor":@},"vendor":1e400},'
        '{"type":"resource_link","uri":"extra:///l","name":"l","size":123456789012345678901234567890},'
        '{"type":"image","data":"AA==","mimeType":"image/png","vendor":@},'
        '{"type":"audio","data":"AA==","mimeType":"audio/wav","vendor":@}],'
        '"structuredContent":@,"isError":false,"vendor":@,"_meta":{"v/y":@}}'
    )
)
SPACED = Raw('{ "content" : [ { "type" : "text" ,\t"text" : "spaced" } ] , "n" : [ 1.10 , 2 ] }')
TOOL_ERROR = Raw(
    _with_hard('{"isError":true,"content":[{"type":"text","text":"no","vendor":@}],"vendor":@}')
)
ERROR_DATA = Raw(_with_hard('{"vendor":@,"list":[null,1.10]}'))

notices: list[str] = []


async def _chatter(call: Call) -> Raw:
    token = (call.params.get("_meta") or {}).get("progressToken")
    if token is not None:
        body = f'{{"progressToken":{json.dumps(token)},"progress":1.10,"total":9007199254740993,'
        await call.notify("notifications/progress", Raw(_with_hard(body + '"vendor":@}')))
    line = '{"level":"info","logger":null,"data":@,"vendor":@,"_meta":{"v":@}}'
    await call.notify("notifications/message", Raw(_with_hard(line)))
    await call.notify("notifications/vendor.news", Raw(HARD))
    return Raw('{"content":[{"type":"text","text":"said it"}]}')


def _mirror(call: Call) -> Raw:
    shown = json.dumps(call.text, ensure_ascii=False)
    block = f'{{"type":"text","text":{shown}}}'
    return Raw(f'{{"content":[{block}],"params":{call.text or "null"}}}')


async def _call_tool(call: Call) -> Any:
    name = call.params.get("name")
    if name == "mirror":
        return _mirror(call)
    if name == "chatter":
        return await _chatter(call)
    if name == "fail":
        raise RefusalError(-31999, "extra failure", ERROR_DATA)
    if name in ("hello_seen", "notices_seen"):
        seen = [call.client.facts["hello"]] if name == "hello_seen" else notices
        blocks = [{"type": "text", "text": text} for text in seen]
        return {"content": blocks}
    fixed = {"everything": EVERYTHING, "spaced": SPACED, "tool_error": TOOL_ERROR}
    if name not in fixed:
        raise RefusalError(-32602, f"Unknown tool: {name}", ERROR_DATA)
    return fixed[name]


def _hello(call: Call) -> Raw:
    asked = call.params.get("protocolVersion")
    version = asked if asked in LEGACY else LEGACY[-1]
    call.client.facts["hello"] = call.text
    return Raw(
        f'{{"protocolVersion":"{version}","capabilities":{CAPABILITIES},'
        f'"serverInfo":{{"name":"extras","version":"1.0.0","vendor":{HARD}}},'
        f'"instructions":"Keep \\u00e9verything","vendor":{HARD},"_meta":{{"v":{HARD}}}}}'
    )


async def app(call: Call) -> Any:
    """Answer one message."""
    if call.id is None:
        notices.append(f'{{"method":{json.dumps(call.method)},"params":{call.text or "null"}}}')
        return None
    if call.method == "initialize":
        return _hello(call)
    if call.method == "tools/call":
        return await _call_tool(call)
    if call.method in RESULTS:
        return RESULTS[call.method]
    if call.method == "server/discover" or "/" not in call.method:
        raise RefusalError(-32601, f"Unknown method: {call.method}", ERROR_DATA)
    return Raw(call.text or "{}")


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="A server with extras everywhere")
    parser.add_argument("--http", type=int, metavar="PORT")
    options = parser.parse_args(arguments)
    return serve_stdio(app) if options.http is None else serve_http(app, options.http)


if __name__ == "__main__":
    sys.exit(main())
