"""What a tool server may ask a person, and under whose name."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import CannotAsk, Client, Question
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.servers.elicitation import ELICIT, SAMPLE, informed, quoted, screened
from gatewright.transport.slices import whole
from tests.costs import cost, least

ALL = Client("2025-11-25", {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
NAME = {"type": "object", "properties": {"name": {"type": "string"}}}


def ask(client: Client = ALL, method: str = ELICIT, **params: Any) -> dict[str, Any]:
    ours = lambda url: "mine.test" in url  # noqa: E731 - it is one line
    found = whole(screened("files", Question(method, params), client, ours))
    assert found.params is not None
    return found.params


def test_a_question_begins_with_the_name_of_its_server() -> None:
    assert ask(message="who?", requestedSchema=NAME)["message"] == 'Server "files" asks: who?'


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_no_line_of_a_server_stands_unmarked_and_nothing_in_it_is_hidden(said: str) -> None:
    first, *rest = quoted("files", said).split("\n")
    assert first.startswith('Server "files" asks:')
    assert all(line.startswith("> ") for line in rest)
    assert all(line.isprintable() for line in (first, *rest))
    assert len("".join((first, *rest)).splitlines()) <= 1


URLS = """javascript:alert(1) JaVaScRiPt:x data:text/html,x file:///etc/hosts vbscript:x blob:x about:blank ftp://a.test/
//a.test/x /x x https:// http:///x https://mine.test/x https://user@a.test/ https://mine@a.test https://a.test\\@b.test/
https://a.test/\u202e https://mine%2etest/x https://%61.test/ http://[fe80::1%25eth0]/ https://\u0430.test/ ws://a.test/ intent:x mailto:a@b.test https://a.test:x/""".split()


@pytest.mark.parametrize(
    "url", [*URLS, "", " https://a.test", "https://a.test/\n", "java\tscript:x", None, 5]
)
def test_a_url_that_no_person_should_open_is_refused(url: object) -> None:
    with pytest.raises(CannotAsk, match="cannot be asked to open"):
        ask(mode="url", message="", url=url, elicitationId="1")


@given(st.text(string.ascii_letters + "+.-", min_size=1, max_size=12))
def test_no_scheme_but_the_two_of_the_web_passes(scheme: str) -> None:
    if scheme.lower() in ("http", "https"):
        assert ask(mode="url", url=f"{scheme}://a.test/x")["mode"] == "url"
        return
    with pytest.raises(CannotAsk, match="cannot be asked to open"):
        ask(mode="url", url=f"{scheme}://a.test/x")


def test_a_page_is_known_by_an_id_of_its_server_alone() -> None:
    found = ask(mode="url", message="log in", url="https://a.test/x?y#z", elicitationId="appr-1")
    assert found["elicitationId"] == "files/appr-1"
    assert found["url"] == "https://a.test/x?y#z"


@pytest.mark.parametrize(
    ("declared", "mode"),
    [({}, "url"), ({"form": {}}, "url"), ({"url": {}}, "form"), ({}, "html"), ({}, ["form"])],
)
def test_only_the_modes_that_the_client_declared_are_asked(declared: Any, mode: Any) -> None:
    client = Client("2025-11-25", {"elicitation": declared})
    with pytest.raises(CannotAsk, match="did not declare elicitation of the mode"):
        ask(client, mode=mode, message="", url="https://a.test", requestedSchema=NAME)


@pytest.mark.parametrize("wrong", [{"type": "poll"}, {"message": 5}, {"timeout_ms": -1}])
def test_a_callback_that_cannot_be_is_refused_and_breaks_nothing(wrong: dict[str, Any]) -> None:
    """A server may ask for one in an interim result as well, where nobody has read it before."""
    with pytest.raises(CannotAsk, match="cannot be"):
        ask(method=CALLBACK, **{"type": "input", "message": "?", **wrong})
    assert ask(method=CALLBACK, type="input", message="?")["message"] == 'Server "files" asks: ?'


@pytest.mark.parametrize("method", [ELICIT, SAMPLE, "roots/list"])
def test_a_client_that_declared_nothing_is_asked_nothing(method: str) -> None:
    with pytest.raises(CannotAsk, match="did not declare that it answers"):
        ask(Client("2025-11-25"), method)


@pytest.mark.parametrize("wish", ["allServers", "thisServer", "ALLSERVERS", "", None, 1, {}])
def test_sampling_is_shown_no_context_of_other_servers(wish: object) -> None:
    params: dict[str, Any] = {"messages": [], "includeContext": wish, "vendor": 1}
    assert ask(method=SAMPLE, **params) == {**params, "includeContext": "none"}
    assert ask(method=SAMPLE, messages=[], includeContext="none")["includeContext"] == "none"


def test_sampling_with_tools_is_for_clients_that_declared_it() -> None:
    with pytest.raises(CannotAsk, match="samples with tools"):
        ask(method=SAMPLE, messages=[], tools=[])
    able = Client("2025-11-25", {"sampling": {"tools": {}}})
    assert ask(able, SAMPLE, messages=[], tools=[])["tools"] == []


@pytest.mark.parametrize("params", [None, [], "x", 1])
def test_params_that_are_no_object_are_refused(params: Any) -> None:
    with pytest.raises(CannotAsk, match="must be an object"):
        whole(screened("files", Question(ELICIT, params), ALL, lambda _: False))


@pytest.mark.parametrize("mode", ["form", "url"])
def test_a_message_leads_nobody_to_the_gateway(mode: str) -> None:
    more = {"requestedSchema": NAME} if mode == "form" else {"url": "https://a.test/"}
    assert ask(mode=mode, message="see https://other.test/x", **more)
    with pytest.raises(CannotAsk, match="leads to the gateway"):
        ask(mode=mode, message="Open https://mine.test/approvals/x to go on", **more)


@pytest.mark.parametrize("ident", [1, True, ["appr-1"], {"id": "appr-1"}])
def test_an_id_of_a_page_that_is_no_text_is_refused(ident: Any) -> None:
    """It would go to the client as it is, without the name of its server."""
    with pytest.raises(CannotAsk, match="elicitationId must be a string"):
        ask(mode="url", message="log in", url="https://a.test/", elicitationId=ident)


HIDDEN = "\u202egpj.x", "pay\u200b me", "\x1b[2Jx", "".join(map(chr, range(0xE0061, 0xE0070)))


def _form(**field: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": {"type": "string", **field}}}


@pytest.mark.parametrize("text", HIDDEN)
def test_what_labels_of_a_form_hide_is_spelled_out_as_in_its_message(text: str) -> None:
    label, own = f"a {text}", {"const": "a", "title": text}
    for schema in (
        _form(title=label),
        _form(description=label),
        _form(enum=["a"], enumNames=[label]),
        _form(enum=["a", "b"], enumNames=[label, 1]),
        _form(enum=["a", "b"], enumNames=[[label], None]),
        _form(oneOf=[own]),
        _form() | {"title": label},
        {"type": "object", "properties": {"title": {"type": "string", "title": label}}},
    ):
        found = ask(message=text, requestedSchema=schema)
        said = json.dumps(found, ensure_ascii=False)
        assert text not in said
        assert json.loads(json.dumps(found).replace("\\\\u", "\\u"))["requestedSchema"] == schema


@pytest.mark.parametrize("text", HIDDEN)
def test_a_form_whose_names_or_values_hide_something_is_asked_of_nobody(text: str) -> None:
    """They cannot be spelled in another way: they are the answer."""
    choice = {"const": text, "title": "a"}
    for schema in (
        _form(enum=["a", text]),
        _form(oneOf=[choice]),
        _form(default=text),
        _form(examples=[text]),
        {"type": "object", "properties": {text: {"type": "string"}}},
        {"type": "object", "properties": {text: True, "x": {}}},
    ):
        with pytest.raises(CannotAsk, match="nobody can see"):
            ask(message="m", requestedSchema=schema)


def test_a_form_in_which_all_is_seen_stays_the_same_object() -> None:
    schema = _form(
        title="\u26a0\ufe0f W\u00e4hle", default="one\n\ttwo", enum=["\u2714\ufe0f", "b"]
    )
    assert ask(message="m", requestedSchema=schema)["requestedSchema"] is schema


def _asking(message: str = "who?", **fields: Any) -> dict[str, Any]:
    return {"message": message, "requestedSchema": {"type": "object", "properties": fields}}


TEXT = {"type": "string"}
MANY: Any = {f"f{one}": {**TEXT, "title": "how are you"} for one in range(900)}
WIDE: Any = {f"f{one}": {**TEXT, "title": "\ufdfa" * 8} for one in range(100)}
LONG = {
    "fields": _asking(**MANY),
    "values": _asking(a={**TEXT, "enum": [f"\u0430{one}" for one in range(1900)]}),
    "titles": _asking(**WIDE),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_form_of_many_texts_is_judged_in_many_steps(kind: str) -> None:
    """Whoever calls something else meanwhile waits for one of them and not for all."""

    def longest() -> float:
        steps = screened("files", Question(ELICIT, LONG[kind]), ALL, lambda _: False)
        costs: list[float] = []
        done: list[bool] = []
        while not done:
            costs.append(cost(lambda: done.append(True) if next(steps, True) else None))
        return max(costs) / sum(costs)

    assert least(longest, 0.2) <= 0.2


@pytest.mark.parametrize(
    "params",
    [
        _asking("\ufdfa" * 8000),
        _asking(a={**TEXT, "title": "\ufdfa" * 16_000}),
        _asking(a={**TEXT, "enum": ["\ufdfa" * 400] * 80}),
    ],
)
def test_a_text_is_as_long_as_it_is_once_it_is_read_as_it_looks(params: Any) -> None:
    """U+FDFA is eighteen characters in NFKC, and each of those is looked at. A text of no such characters is as long as it is."""
    with pytest.raises(CannotAsk, match=r"at most|more than"):
        ask(**params)


@pytest.mark.parametrize("letter", ["a", "\u0430", "\u5bb6"])
def test_a_text_in_any_script_may_be_as_long_as_one_in_latin(letter: str) -> None:
    assert ask(**_asking(letter * 8192, a={**TEXT, "description": letter * 16_000}))


def test_what_a_caller_is_only_to_know_is_as_long_as_a_question() -> None:
    assert informed("files", {"message": "a" * 8192}, lambda _: False)
    for said in ("a" * 8193, "\ufdfa" * 500, 7):
        with pytest.raises(CannotAsk, match="message must be"):
            informed("files", {"message": said}, lambda _: False)
