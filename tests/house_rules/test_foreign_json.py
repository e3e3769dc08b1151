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
    "cli/gateway_client.py": _CLIENT,
    "audit/offload.py": _OWN,
    "cli/config.py": _OPERATOR,
    "cli/demo.py": _OWN,
    "cli/demo_server.py": _CLIENT,
    "cli/init.py": _OPERATOR,
    "cli/policy_try.py": _OPERATOR,
    "rooms/commands/chat_input.py": _OPERATOR,
    "cli/running.py": _OWN,
    "servers/commands/tool.py": _OPERATOR,
    "cli/argument_types.py": _OPERATOR,
    "audit/notifications.py": _OWN,
    "events/methods.py": _OWN,
    "events/subscription.py": _OWN,
    "audit/trail_reading.py": _OWN,
    "audit/search_facts.py": _OWN,
    "console/audit_export.py": _OWN,
    "console/screens/audit.py": _OWN,
    "console/commands.py": _OWN,
    "console/api.py": "a body of bounded length, of somebody who is signed in or has an operator's key",
    "app/worker.py": _PROCESS,
    "pins/offload.py": _PROCESS,
    "pins/result_reading.py": "a few KiB, and what is longer in a worker process",
    "redaction/offload.py": _PROCESS,
    "schemas/offload.py": _PROCESS,
    "servers/uri_offload.py": _PROCESS,
    "validators/offload.py": _PROCESS,
    "transport/worker_requests.py": _CLEANED,
    "hosts/installed.py": _OPERATOR,
    "hosts/json_spans.py": _OPERATOR,
    "hosts/parse.py": _OPERATOR,
    "hosts/records.py": _OWN,
    "dialects/rest/endpoint.py": _CATALOGUE,
    "rooms/admin_endpoint.py": "what an operator with a key says",
    "servers/link_filter.py": _CLEANED,
    "redaction/filter.py": _CLEANED,
    "redaction/report.py": _CLEANED,
    "return_path.py": _OWN,
    "servers/openapi/reader.py": _PROCESS,
    "rooms/participants/rules.py": _OWN,
    "identity/token_rules.py": "a header of bounded length, whose signature holds before all of it is read",
    "servers/openapi/text.py": _PROCESS,
    "mcp/protocol/request_state.py": "what the gateway has sealed",
    "mcp/protocol/ggen.py": _FIELDS,
    "dialects/groundhog/outcomes.py": _CATALOGUE,
    "oauth/documents.py": _COUNTED,
    "mcpx/payload.py": _COUNTED,
    "secret_scanning/invisible.py": "one string of a text that is looked through in a worker where it is long",
    "secret_scanning/json_text.py": "one string of a text that is looked through in a worker where it is long",
    "sdk/client/client.py": _CLIENT,
    "sdk/client/calls.py": _CLIENT,
    "sdk/client/model_calls.py": _CLIENT,
    "sdk/client/results.py": _CLIENT,
    "sdk/foreign_types.py": _CLIENT,
    "config/gh_aw_form.py": _OPERATOR,
    "discovery/batch.py": _OPERATOR,
    "discovery/embedders/endpoint.py": _COUNTED,
    "discovery/embedders/local_model.py": "the head of an answer of our own process, four members",
    "discovery/embedders/model_files.py": _PROCESS,
    "discovery/embedders/worker.py": _PROCESS,
    "discovery/kept_vectors.py": _OWN,
    "config/review.py": _OWN,
    "audit/records.py": _OWN,
    "audit/sinks/file.py": _OWN,
    "audit/sinks/positions.py": _OWN,
    "audit/sinks/mgp.py": _OWN,
    "audit/sinks/postgres.py": _OWN,
    "audit/sinks/sqlite.py": _OWN,
    "audit/sinks/syslog.py": _OWN,
    "storage/former_files.py": _OWN,
    "approvals/shown_arguments.py": _OWN,
    "identity/keys.py": _OWN,
    "audit/formats.py": _OWN,
    "audit/intents.py": _OWN,
    "access/issued_grants.py": _OWN,
    "pins/store.py": _OWN,
    "config/keyring_secrets.py": _OWN,
    "servers/login_store.py": _OWN,
    "servers/task_store.py": _OWN,
    "access/permissions.py": _OWN,
    "audit/reader.py": _OWN,
    "dialects/groundhog/registrations.py": _OWN,
    "registration/store.py": _OWN,
    "rooms/trust_store.py": _OWN,
    "config/sealed_file.py": _OWN,
    "config/trust.py": _OWN,
    "audit/verify.py": _OWN,
    "console/recent_calls.py": _OWN,
    "dialects/groundhog/worker.py": _PROCESS,
    "transport/isolation/probe.py": _PROCESS,
    "dialects/groundhog/sandboxed_run.py": "what a shipped tool says, within the bounds of its own process",
    "mcp/wire/foreign_json.py": "the one that counts",
    "mcp/wire/json_bounds.py": "counts what was estimated before, without a decimal",
    "mcp/wire/jsonrpc.py": _FIELDS,
    "mcp/wire/plain_call.py": _FIELDS,
    "mcp/wire/plain_chunk.py": "fields of a frame of a KiB at most",
    "mcpx/envelope.py": _FIELDS,
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
    """Whether a module has a way to decode JSON, other than the counted ones. Parsing is most of what this costs."""
    return any(word in text for word in ("json", "msgspec", "decode_whole")) and _decodes(text)


def _decodes(text: str) -> bool:
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
