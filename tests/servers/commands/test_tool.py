"""`tool list`, `show` and `call`: arguments in, the tool's words out, an exit code for each ending."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.cli.errors import CliError
from gatewright.servers.commands.tool import read_arguments
from tests.cli.endpoints import Endpoint
from tests.cli.shell import Shell

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to say."},
        "n": {"type": "integer", "x-mcp-header": "Count"},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "tags": {"type": "array"},
        "more": {"type": "object"},
        "any": {},
        "either": {"type": ["string", "integer"]},
    },
    "required": ["text"],
}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "demo__echo",
        "description": "Say it again.\nAnd again.",
        "inputSchema": SCHEMA,
        "security": {"risk_level": "safe"},
    },
    {"name": "demo__plain", "inputSchema": {"type": "object"}},
    {"name": "demo__evil", "description": "\x1b[2J\x1b[Hsafe", "inputSchema": {}},
]


@pytest.fixture
def tools(endpoint: Endpoint) -> Endpoint:
    endpoint.replies["tools/list"] = lambda _: {"tools": TOOLS}
    endpoint.replies["tools/call"] = lambda message: {
        "content": [{"type": "text", "text": json.dumps(message["params"]["arguments"])}]
    }
    return endpoint


def test_tools_are_listed_with_risk_and_first_line(shell: Shell, tools: Endpoint) -> None:
    done = shell.run("tool", "list")
    assert (done.code, done.err) == (0, "")
    assert done.rows == [
        ["demo__echo", "safe", "Say it again."],
        ["demo__plain", "", ""],
        ["demo__evil", "", "\\u{1b}[2J\\u{1b}[Hsafe"],
    ]
    assert tools.headers[0]["Authorization"] == "Bearer local-token"


def test_the_document_has_the_definitions_as_they_came(shell: Shell, tools: Endpoint) -> None:
    assert shell.run("tool", "list", "--json").document == TOOLS


def test_a_profile_and_a_key_are_used(shell: Shell, tools: Endpoint) -> None:
    shell.run("tool", "list", "--profile", "small", "--key", "gw_x")
    shell.run("tool", "list", environ={"GATEWRIGHT_KEY": "gw_y"})
    assert [(one["path"], one["Authorization"]) for one in tools.headers] == [
        ("/mcp/small", "Bearer gw_x"),
        ("/mcp", "Bearer gw_y"),
    ]


def test_no_tool_is_an_empty_answer_with_a_word_about_grants(
    shell: Shell, endpoint: Endpoint
) -> None:
    endpoint.replies["tools/list"] = lambda _: {"tools": []}
    done = shell.run("tool", "list")
    assert (done.code, done.out) == (0, "")
    assert "grant add AGENT SERVER" in done.err


@pytest.mark.parametrize("name", ["demo__echo", "demo/echo"])
def test_a_tool_is_shown_with_its_arguments(shell: Shell, tools: Endpoint, name: str) -> None:
    done = shell.run("tool", "show", name)
    assert done.code == 0
    assert done.out.startswith("demo__echo\n\nSay it again.\nAnd again.\n")
    assert ["text", "string", "yes", "What to say."] in done.rows
    assert ["n", "integer", "no", ""] in done.rows
    assert shell.run("tool", "show", name, "--json").document == TOOLS[0]


def test_a_tool_without_arguments_is_shown_too(shell: Shell, tools: Endpoint) -> None:
    assert shell.run("tool", "show", "demo__plain").out == "demo__plain\n\nno description\n"


def test_an_unknown_tool_cannot_be_shown(shell: Shell, tools: Endpoint) -> None:
    done = shell.run("tool", "show", "demo__nope")
    assert (done.code, done.error["code"]) == (2, "tool_not_found")
    assert "gatewright tool list" in done.error["hint"]


def test_a_call_sends_typed_arguments_and_prints_the_text(shell: Shell, tools: Endpoint) -> None:
    pairs = ["text=5", "n=5", "ratio=0.5", "loud=true", 'tags=["a"]', "more={}", "any=5", "x:=[1]"]
    done = shell.run("tool", "call", "demo__echo", *pairs)
    assert (done.code, done.err) == (0, "")
    sent = {
        "text": "5",
        "n": 5,
        "ratio": 0.5,
        "loud": True,
        "tags": ["a"],
        "more": {},
        "any": "5",
        "x": [1],
    }
    assert done.document == sent
    assert tools.asked[-1]["params"]["name"] == "demo__echo"
    assert tools.headers[-1]["Mcp-Param-Count"] == "5"


def test_arguments_can_be_json_from_a_word_a_file_or_standard_input(
    shell: Shell, tools: Endpoint
) -> None:
    text = '{"text":"a","big":123456789012345678901234567890}'
    shell.write("arguments.json", text)
    for source in (text, "@arguments.json", "-"):
        done = shell.run("tool", "call", "demo__echo", "--input-json", source, given=text)
        assert done.document == {"text": "a", "big": 123456789012345678901234567890}
    both = shell.run("tool", "call", "demo__echo", "text=b", "--input-json", text)
    assert both.document["text"] == "b"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "'nothing' is not KEY=VALUE"),
        (["=x"], "'=x' is not KEY=VALUE"),
        (["n=many"], "n=many is not JSON"),
        (["n:=many"], "n:=many is not JSON"),
        (["--input-json", "[1]"], "--input-json is not a JSON object"),
        (["--input-json", "{"], "--input-json is not JSON"),
        (["--input-json", "@gone.json"], "@gone.json cannot be read"),
    ],
)
def test_arguments_that_cannot_be_meant_are_a_usage_error(
    shell: Shell, tools: Endpoint, arguments: list[str], message: str
) -> None:
    done = shell.run("tool", "call", "demo__echo", *arguments)
    assert (done.code, done.out, done.error["code"]) == (2, "", "usage")
    assert done.error["message"].startswith(message)
    assert [one["method"] for one in tools.asked] == ["tools/list"]


def test_a_tool_that_fails_is_exit_code_5_with_its_words_on_standard_output(
    shell: Shell, tools: Endpoint
) -> None:
    result = {"content": [{"type": "text", "text": "disk full"}], "isError": True}
    tools.replies["tools/call"] = lambda _: result
    done = shell.run("tool", "call", "demo__plain")
    assert (done.code, done.out, done.error["code"]) == (5, "disk full\n", "tool_failed")
    told = shell.run("tool", "call", "demo__plain", "--json")
    assert (told.code, told.document) == (5, result)


def test_a_refused_call_is_exit_code_6_with_reason_hint_and_trace(
    shell: Shell, tools: Endpoint
) -> None:
    data = {"reason": "access_denied", "trace_id": "t-1"}
    tools.replies["tools/call"] = lambda message: tools.error(message, 1001, "not yours", data)
    done = shell.run("tool", "call", "demo__plain")
    assert (done.code, done.out) == (6, "")
    assert done.error["code"] == "access_denied"
    assert done.error["message"] == "not yours"
    assert done.error["request_id"] == "t-1"
    assert "gatewright grant add" in done.error["hint"]


def test_an_unlisted_tool_is_asked_for_all_the_same_and_the_gateway_answers(
    shell: Shell, tools: Endpoint
) -> None:
    data = {"reason": "tool_not_found"}
    tools.replies["tools/call"] = lambda message: tools.error(message, 4001, "no such tool", data)
    done = shell.run("tool", "call", "demo__hidden", "a=1")
    assert (done.code, done.error["code"]) == (2, "tool_not_found")
    assert tools.asked[-1]["params"]["arguments"] == {"a": "1"}


def test_what_is_no_text_is_named_and_structured_content_stands_in(
    shell: Shell, tools: Endpoint
) -> None:
    tools.replies["tools/call"] = lambda _: {
        "content": [{"type": "image", "mimeType": "image/png", "data": "AA=="}],
        "structuredContent": {"sum": 3},
    }
    done = shell.run("tool", "call", "demo__plain")
    assert (done.code, done.out) == (0, '{"sum":3}\n')
    assert "[image image/png: see --json]" in done.err


def test_on_a_terminal_a_tool_cannot_move_the_cursor(shell: Shell, tools: Endpoint) -> None:
    text = "a\x1b[2Jb\u202ec"
    tools.replies["tools/call"] = lambda _: {"content": [{"type": "text", "text": text}]}
    assert shell.run("tool", "call", "demo__plain").out == text + "\n"
    shown = shell.run_at_terminal("tool", "call", "demo__plain").out
    assert shown.strip() == "a\\u{1b}[2Jb\\u{202e}c"


def test_names_are_completed_from_the_running_gateway(shell: Shell, tools: Endpoint) -> None:
    environ = {
        "_GATEWRIGHT_COMPLETE": "complete_bash",
        "COMP_WORDS": "gatewright tool call demo__e",
        "COMP_CWORD": "3",
    }
    done = shell.run(environ=environ)
    assert done.out.split() == ["demo__echo", "demo__evil"]


@given(
    st.dictionaries(
        st.text(min_size=1).filter(lambda key: "=" not in key and not key.endswith(":")),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=5,
        ),
        max_size=4,
    )
)
def test_every_json_value_can_be_given_as_a_pair(arguments: dict[str, Any]) -> None:
    pairs = [f"{key}:={json.dumps(value)}" for key, value in arguments.items()]
    assert read_arguments(pairs, None, None) == arguments
    assert read_arguments([], json.dumps(arguments), None) == arguments


@given(st.text(), st.none() | st.text(), st.none() | st.dictionaries(st.text(), st.text()))
def test_no_argument_breaks_the_reader(pair: str, text: str | None, schema: Any) -> None:
    if text is not None and (text == "-" or text.startswith("@")):
        return
    try:
        assert isinstance(read_arguments([pair], text, schema), dict)
    except CliError as refused:
        code = refused.exit_code
        if code != 2:
            raise
