"""No stranger's JSON becomes Python values uncounted: `mcp.wire.foreign_json` counts, and whoever decodes past it says why."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gatewright

SOURCE = Path(gatewright.__file__).parent

_OPERATOR = "files and words of the operator, in a command of his"
_OWN = "what this gateway has written itself"
_COUNTED = "counted by `flaw_of` or `heavy` before"
_PROCESS = "in a process of its own, which can be ended"
_CLIENT = "a program of its author, which waits for this one answer"
_SHORT = "a text of a bounded length"
_CLEANED = "what a worker made of a text that was counted when it came"
_CATALOGUE = "the list that the catalogue has, whose tools are bounded one by one"
_FIELDS = "reads members that are named, and skips the rest"
ALLOWED = {
    "cli/ask.py": _CLIENT,
    "cli/config.py": _OPERATOR,
    "cli/demo.py": _OWN,
    "cli/demo_server.py": _CLIENT,
    "cli/init.py": _OPERATOR,
    "cli/policy_try.py": _OPERATOR,
    "cli/room_talk.py": _OPERATOR,
    "cli/running.py": _OWN,
    "cli/server_pin.py": _OPERATOR,
    "cli/tool.py": _OPERATOR,
    "cli/typed.py": _OPERATOR,
    "compose/beside.py": _CLEANED,
    "compose/witness.py": _OWN,
    "compose/worker.py": _PROCESS,
    "configs/installed.py": _OPERATOR,
    "configs/json_spans.py": _OPERATOR,
    "configs/parse.py": _OPERATOR,
    "configs/records.py": _OWN,
    "doors/rest.py": _CATALOGUE,
    "doors/rooms_admin.py": "what an operator with a key says",
    "filters/links.py": _CLEANED,
    "filters/redact.py": _CLEANED,
    "links/api_reading.py": _PROCESS,
    "participants/rules.py": _OWN,
    "protocol/access_tokens.py": "a header of bounded length, whose signature holds before all of it is read",
    "protocol/api_text.py": _PROCESS,
    "protocol/eras.py": "what the gateway has sealed",
    "protocol/ggen.py": _FIELDS,
    "protocol/groundhog.py": _CATALOGUE,
    "protocol/oauth.py": _COUNTED,
    "protocol/room_payload.py": _COUNTED,
    "redaction/invisible.py": "one string of a text that is looked through in a worker where it is long",
    "redaction/json_text.py": "one string of a text that is looked through in a worker where it is long",
    "sdk/client/client.py": _CLIENT,
    "sdk/client/failures.py": _CLIENT,
    "sdk/client/model_calls.py": _CLIENT,
    "sdk/client/results.py": _CLIENT,
    "sdk/foreign_types.py": _CLIENT,
    "settings/gateway_form.py": _OPERATOR,
    "settings/review.py": _OWN,
    "sinks/file.py": _OWN,
    "sinks/follow.py": _OWN,
    "sinks/mgp.py": _OWN,
    "sinks/postgres.py": _OWN,
    "sinks/sqlite.py": _OWN,
    "sinks/syslog.py": _OWN,
    "storage/former.py": _OWN,
    "stores/approval.py": _OWN,
    "stores/callers.py": _OWN,
    "stores/formats.py": _OWN,
    "stores/intents.py": _OWN,
    "stores/issued.py": _OWN,
    "stores/pins.py": _OWN,
    "stores/keyring_secrets.py": _OWN,
    "stores/logins.py": _OWN,
    "stores/permissions.py": _OWN,
    "stores/reader.py": _OWN,
    "stores/registered.py": _OWN,
    "stores/room_trust.py": _OWN,
    "stores/sealed_file.py": _OWN,
    "stores/trust.py": _OWN,
    "stores/verify.py": _OWN,
    "upstream/builtin/worker.py": _PROCESS,
    "upstream/confined.py": "what a shipped tool says, within the bounds of its own process",
    "wire/foreign_json.py": "the one that counts",
    "wire/json_bounds.py": "counts what was estimated before, without a decimal",
    "wire/jsonrpc.py": _FIELDS,
    "wire/mcpx.py": _FIELDS,
}
"""Module → why nothing large of a stranger's is decoded there in one step. None is added without such a reason."""

_UNCOUNTED = frozenset({"loads", "load", "JSONDecoder", "Decoder", "decode"})


def _names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """What stands for a module of JSON in a module, and for `msgspec` itself."""
    modules, packages = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name in ("json", "msgspec.json") and (one.asname or one.name == "json"):
                    modules.add(one.asname or one.name)
                if one.name.split(".")[0] == "msgspec":
                    packages.add(one.asname or "msgspec")
        if isinstance(node, ast.ImportFrom) and node.module == "msgspec":
            modules |= {one.asname or one.name for one in node.names if one.name == "json"}
    return modules, packages


def decodes_uncounted(text: str) -> bool:
    """Whether a module has a way to decode JSON, other than the counted ones."""
    tree = ast.parse(text)
    modules, packages = _names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = {one.name for one in node.names}
            if "decode_whole" in names or (
                node.module in ("json", "msgspec.json") and names & _UNCOUNTED
            ):
                return True
        if isinstance(node, ast.Name) and node.id == "decode_whole":
            return True
        if not isinstance(node, ast.Attribute):
            continue
        if node.attr == "decode_whole":
            return True
        of = node.value
        if node.attr in _UNCOUNTED and (
            (isinstance(of, ast.Name) and of.id in modules)
            or (
                isinstance(of, ast.Attribute)
                and of.attr == "json"
                and isinstance(of.value, ast.Name)
                and of.value.id in packages
            )
        ):
            return True
    return False


@pytest.mark.parametrize(
    "text",
    [
        "import json\njson.loads(x)",
        "import json as plain\nplain.load(x)",
        "from json import loads",
        "from json import JSONDecoder as D",
        "import msgspec\nmsgspec.json.decode(x)",
        "import msgspec as m\nD = m.json.Decoder(int)",
        "import msgspec.json\nmsgspec.json.decode(x)",
        "from msgspec import json\njson.decode(x)",
        "from msgspec import json as j\nj.Decoder()",
        "from msgspec.json import decode",
        "from gatewright.mcp.wire import jsonrpc\njsonrpc.decode_whole(x)",
        "from gatewright.mcp.wire.foreign_json import decode_whole",
        "def f():\n    import json\n    return json.loads",
    ],
)
def test_every_way_around_the_count_is_found(text: str) -> None:
    assert decodes_uncounted(text)


@pytest.mark.parametrize(
    "text",
    [
        "import json\njson.dumps(x)",
        "import msgspec\nmsgspec.json.encode(x)",
        "from gatewright.mcp.wire import jsonrpc\njsonrpc.decode(x)",
        "x.decode()",
    ],
)
def test_the_counted_ways_are_none(text: str) -> None:
    assert not decodes_uncounted(text)


def test_no_module_decodes_a_strangers_json_uncounted() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if decodes_uncounted(path.read_text())
    }
    assert found == set(ALLOWED)
