"""Questions in the middle of a call: asked at a terminal, as typed as their form, and nowhere else."""

import io
from typing import Any

import pytest

from gatewright.cli import questions
from gatewright.cli.errors import CliError
from gatewright.cli.questions import ROUNDS, answer_all, capabilities
from tests.cli.endpoints import Endpoint
from tests.cli.shell import Shell

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
        "age": {"type": "integer"},
        "height": {"type": "number"},
        "sure": {"type": "boolean", "default": True},
    },
}


def request(**params: Any) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"message": "Who are you?", **params}}


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Answers a form with the lines given, as if a person had typed them."""

    def answer(text: str, schema: dict[str, Any]) -> Any:
        monkeypatch.setattr(questions, "is_terminal", lambda _: True)
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return answer_all({"q": request(requestedSchema=schema)})["q"]

    return answer


def test_a_form_is_answered_field_by_field_in_its_types(answered: Any) -> None:
    assert answered("Ana\nred\n7\n1.5\nn\n", FORM) == {
        "action": "accept",
        "content": {"name": "Ana", "colour": "red", "age": 7, "height": 1.5, "sure": False},
    }


def test_an_empty_line_takes_the_default_or_leaves_the_field_out(answered: Any) -> None:
    assert answered("\n" * 5, FORM) == {
        "action": "accept",
        "content": {"colour": "blue", "sure": True},
    }
    plain = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
    assert answered("\n", plain)["content"] == {"sure": False}


def test_what_the_form_needs_is_asked_for_until_it_is_given(
    answered: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without it the answer would not be one to this form."""
    names = ["name", "colour", "sure"]
    assert answered("\nAna\n\n\n\n\n", FORM | {"required": names})["content"] == {
        "name": "Ana",
        "colour": "blue",
        "sure": True,
    }
    assert "the form needs an answer here; Ctrl-D cancels" in capfd.readouterr().err
    assert answered("\n\n", FORM | {"required": names}) == {"action": "cancel"}


def test_what_does_not_fit_is_asked_for_again(
    answered: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    schema = {"properties": {"age": {"type": "integer"}, "sure": {"type": "boolean"}}}
    assert answered("old\n7\nperhaps\nyes\n", schema)["content"] == {"age": 7, "sure": True}
    said = capfd.readouterr().err
    assert "'old' does not fit" in said
    assert "'perhaps' does not fit" in said


RED_BLUE = [{"const": "#f00", "title": "Red"}, {"const": "#00f", "title": "Blue"}]


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ({"type": "string", "oneOf": RED_BLUE}, "#00f", "#00f"),
        ({"type": "string", "oneOf": RED_BLUE}, "Red", "#f00"),
        ({"type": "string", "anyOf": RED_BLUE}, "Red", "#f00"),
        ({"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]}, "Blue", "b"),
        ({"type": "string", "enum": ["r", "b"], "enumNames": ["b", "r"]}, "b", "b"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}, "c , a", ["c", "a"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a,a", ["a"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "a, b"]}}, "a, b", ["a, b"]),
        ({"type": "array", "items": {"anyOf": RED_BLUE}}, "Red, #00f", ["#f00", "#00f"]),
        ({"type": "array", "items": {"anyOf": RED_BLUE}, "default": ["#f00"]}, "", ["#f00"]),
        ({"type": "array", "items": {"anyOf": RED_BLUE}, "default": ["#f00"]}, ",", []),
        ({"type": "array", "items": {"type": "string"}}, "a, b", ["a", "b"]),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
        ({"anyOf": [{"const": "a"}, {"type": "string"}]}, "b", "b"),
    ],
)  # fmt: skip
def test_what_can_be_chosen_is_answered_as_the_form_means_it(
    answered: Any, field: dict[str, Any], typed: str, value: Any
) -> None:
    """MCP 2025-11-25: one of some texts or several, with titles or without; SEP-1330."""
    found = answered(f"{typed}\n", {"properties": {"a": field}})
    assert found == {"action": "accept", "content": {"a": value}}


@pytest.mark.parametrize(
    ("field", "offered"),
    [
        ({"type": "string", "oneOf": RED_BLUE}, "a (#f00 = Red|#00f = Blue): "),
        ({"enum": ["r"], "enumNames": ["Red"], "default": "r"}, "a (r = Red) [r]: "),
        (
            {"type": "array", "items": {"enum": ["x", "y"]}, "default": ["x", "y"]},
            'a (x|y; commas between, "," for none) [x, y]: ',
        ),
    ],
)
def test_what_can_be_chosen_is_offered(
    answered: Any, capfd: pytest.CaptureFixture[str], field: dict[str, Any], offered: str
) -> None:
    answered("\n", {"properties": {"a": field}})
    assert offered in capfd.readouterr().err


@pytest.mark.parametrize(
    ("field", "wrong", "right", "value"),
    [
        ({"type": "number"}, "nan", "1", 1.0),
        ({"type": "number"}, "-inf", "1", 1.0),
        ({"type": "number"}, "1e400", "1e3", 1000.0),
        ({"type": "string"}, "\udc80", "b", "b"),
        ({"type": "integer", "minimum": 3}, "2", "3", 3),
        ({"type": "string", "oneOf": RED_BLUE}, "Green", "Red", "#f00"),
        ({"type": "string", "oneOf": [*RED_BLUE, {"const": "x", "title": "Red"}]}, "Red", "x", "x"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a b", "a,b", ["a", "b"]),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a, c", "b", ["b"]),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}, "a", "b,a", ["b", "a"]),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1}, "a,b", "b", ["b"]),
    ],
)
def test_what_its_field_or_json_does_not_take_is_asked_for_again(
    answered: Any,
    capfd: pytest.CaptureFixture[str],
    field: dict[str, Any],
    wrong: str,
    right: str,
    value: Any,
) -> None:
    found = answered(f"{wrong}\n{right}\n", {"properties": {"a": field}})
    assert found["content"] == {"a": value}
    assert f"{wrong!r} does not fit" in capfd.readouterr().err


def test_bounds_that_cannot_be_read_are_left_to_who_asked(answered: Any) -> None:
    field = {"type": "string", "pattern": "("}
    assert answered("x\n", {"properties": {"a": field}})["content"] == {"a": "x"}


def test_the_end_of_the_input_cancels(answered: Any) -> None:
    assert answered("Ana\n", FORM) == {"action": "cancel"}


def test_the_question_is_shown_with_nothing_invisible(
    answered: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    answered("x\n", {"properties": {"a": {"type": "string", "title": "\x1b[2Jtitle"}}})
    said = capfd.readouterr().err
    assert said.startswith("? Who are you?\n")
    assert "\\u{1b}[2Jtitle" in said


@pytest.mark.parametrize("schema", [None, 5, {}, {"properties": 5}, {"properties": {"a": 5}}])
def test_a_form_of_another_shape_breaks_nothing(answered: Any, schema: Any) -> None:
    assert answered("x\n", schema)["action"] == "accept"


@pytest.mark.parametrize(
    "asked",
    [
        {"method": "sampling/createMessage", "params": {}},
        request(mode="url", url="https://example.com"),
        {"method": "elicitation/create"},
        "nothing",
    ],
)
def test_what_is_no_form_cannot_be_answered(monkeypatch: pytest.MonkeyPatch, asked: Any) -> None:
    monkeypatch.setattr(questions, "is_terminal", lambda _: True)
    with pytest.raises(CliError) as caught:
        answer_all({"q": asked})
    assert caught.value.code == "missing_capability"


def test_without_a_terminal_nothing_is_declared_and_nothing_answered() -> None:
    assert capabilities() == {}
    with pytest.raises(CliError):
        answer_all({"q": request(requestedSchema=FORM)})


def test_a_call_goes_on_with_the_answer_and_the_state(shell: Shell, endpoint: Endpoint) -> None:
    def call(message: dict[str, Any]) -> dict[str, Any]:
        params = message["params"]
        if "inputResponses" in params:
            return {"content": [{"type": "text", "text": "done"}]}
        return {
            "resultType": "input_required",
            "inputRequests": {"q": request(requestedSchema=FORM)},
            "requestState": "sealed",
        }

    endpoint.replies["tools/list"] = lambda _: {"tools": []}
    endpoint.replies["tools/call"] = call
    done = shell.run_at_terminal("tool", "call", "t", "a=1", answers="Ana\n\n\n\n\n")
    assert (done.code, "done" in done.out) == (0, True)
    first, second = (one["params"] for one in endpoint.asked[-2:])
    declared = first["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared["elicitation"] == {"form": {}}
    assert second["arguments"] == first["arguments"] == {"a": "1"}
    assert second["requestState"] == "sealed"
    assert second["inputResponses"]["q"]["content"]["name"] == "Ana"


def test_a_tool_that_asks_without_end_is_given_up(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.replies["tools/list"] = lambda _: {"tools": []}
    endpoint.replies["tools/call"] = lambda _: {"resultType": "input_required"}
    done = shell.run("tool", "call", "t")
    assert (done.code, done.error["code"]) == (5, "upstream_error")
    assert sum(one["method"] == "tools/call" for one in endpoint.asked) == ROUNDS


def test_every_line_of_a_question_is_marked_as_one(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "is_terminal", lambda _: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("x\n"))
    form = {"properties": {"a": {"title": "Name\nerror: b", "default": "c\n hint: d"}}}
    answer_all({"q": request(message="Who?\n hint: run it", requestedSchema=form)})
    question, more, field = capfd.readouterr().err.splitlines()
    assert (question, more) == ("? Who?", "?  hint: run it")
    assert field.startswith("  Name\\u{a}error: b")
