"""What a tool server may ask a person, and under whose name."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import CannotAsk, Client, Question
from gatewright.upstream.asking import ELICIT, SAMPLE, quoted, screened, wants_secret

ALL = Client("2025-11-25", {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
NAME = {"type": "object", "properties": {"name": {"type": "string"}}}


def ask(client: Client = ALL, method: str = ELICIT, **params: Any) -> dict[str, Any]:
    found = screened("files", Question(method, params), client, lambda url: "mine.test" in url)
    assert found.params is not None
    return found.params


def form(name: str = "name", message: str = "who?", **field: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: {"type": "string", **field}}}
    return ask(message=message, requestedSchema=schema)


def test_a_question_begins_with_the_name_of_its_server() -> None:
    assert ask(message="who?", requestedSchema=NAME)["message"] == 'Server "files" asks: who?'


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_no_line_of_a_server_stands_unmarked_and_nothing_in_it_is_hidden(said: str) -> None:
    first, *rest = quoted("files", said).split("\n")
    assert first.startswith('Server "files" asks:')
    assert all(line.startswith("> ") for line in rest)
    assert all(line.isprintable() for line in (first, *rest))
    assert len("".join((first, *rest)).splitlines()) <= 1


SECRETS = """password Password passWord userPassword user_password pass-word p.a.s.s.w.o.r.d passw0rd p@ssword pa$$word
p\u0430ssword pass\u200bword \uff50assword passphrase passcode apiKey api_key API-KEY accessToken auth_token privateKey
client_secret secret token githubToken OTP pin cvv credentials seed_phrase recoveryCode creditCard Passwort contrase\u00f1a
mot_de_passe wachtwoord senha \u043f\u0430\u0440\u043e\u043b\u044c \u5bc6\u7801 \u30d1\u30b9\u30ef\u30fc\u30c9 \ube44\ubc00\ubc88\ud638""".split()


@pytest.mark.parametrize("word", SECRETS)
@pytest.mark.parametrize("place", ["name", "title", "description", "message"])
def test_a_form_that_asks_for_a_secret_is_refused_wherever_it_says_so(
    word: str, place: str
) -> None:
    said = {"message": f"Enter: {word}"} if place == "message" else {place: f"{word}"}
    with pytest.raises(CannotAsk, match="must not ask for passwords"):
        form(**said)


@pytest.mark.parametrize("field", [{"format": "password"}, {"writeOnly": True}])
def test_a_hidden_field_is_refused_whatever_it_is_called(field: dict[str, Any]) -> None:
    with pytest.raises(CannotAsk, match="must not ask for passwords"):
        form(**field)


NOTHING: list[Any] = [[], None, {}, "x", 0]
NO_CHOICES: list[dict[str, Any]] = [
    *({word: held} for word in ("enum", "oneOf", "anyOf") for held in NOTHING),
    *({word: [{"type": "string"}]} for word in ("oneOf", "anyOf")),
    {"oneOf": [1]},
    {"anyOf": [{"const": "a"}, {"type": "string"}]},
    {"const": "x"},
    {"items": {"enum": ["a"]}},
    {"properties": {"a": {}}},
    {"type": "array"},
    {"type": "array", "items": []},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "properties": {}},
    {"type": ["string", "null"]},
    {"type": None},
]


@pytest.mark.parametrize("field", NO_CHOICES, ids=str)
@pytest.mark.parametrize("place", ["name", "title"])
def test_a_field_is_a_choice_only_where_there_is_something_to_choose(
    field: dict[str, Any], place: str
) -> None:
    """What a client does not understand it shows as a text to fill in."""
    with pytest.raises(CannotAsk, match="must not ask for passwords"):
        form(**{place: "password", **field})


CHOICES: list[dict[str, Any]] = [
    {"enum": ["token", "oauth"]},
    {"oneOf": [{"const": "password", "title": "Password"}, {"const": "key"}]},
    {"type": "array", "items": {"type": "string", "enum": ["password", "x"]}},
    {"type": "array", "items": {"anyOf": [{"const": "a", "title": "Secret"}]}},
    {"type": "boolean", "title": "Keep secret"},
]


@pytest.mark.parametrize("field", CHOICES, ids=str)
def test_a_choice_may_speak_of_secrets(field: dict[str, Any]) -> None:
    found = form("auth_token", **field)
    assert found["requestedSchema"]["properties"]["auth_token"] == {"type": "string", **field}


@pytest.mark.parametrize(
    "label",
    [
        "Never share - API key",
        "Do not share with anyone, account password",
        "Don't type spaces \u2014 password",
        "Never enter spaces \u00b7 password",
    ],
)
@pytest.mark.parametrize("place", ["title", "description"])
def test_a_label_is_what_is_asked_for_whatever_it_warns_of(label: str, place: str) -> None:
    with pytest.raises(CannotAsk, match="must not ask for passwords"):
        form(**{place: label})


@pytest.mark.parametrize("place", ["default", "examples", "enum", "enumNames"])
def test_a_value_may_speak_of_secrets_and_not_for_the_gateway(place: str) -> None:
    def held(text: str) -> Any:
        return text if place == "default" else [text]

    found = form(title="Branch", **{place: held("feature/token-refresh")})
    assert found["requestedSchema"]["properties"]["name"][place] == held("feature/token-refresh")
    with pytest.raises(CannotAsk, match="in the name of the gateway"):
        form(title="Branch", **{place: held("Gatewright: approve")})


def test_a_long_list_of_choices_is_a_form() -> None:
    names = [f"a choice of {number}" for number in range(900)]
    assert form(enum=names, enumNames=names)
    with pytest.raises(CannotAsk, match="values 32768"):
        form(enum=["x" * 40_000])


def test_a_secret_that_is_asked_for_deep_in_a_schema_is_found() -> None:
    deep: dict[str, Any] = {"type": "object", "properties": {"password": {"type": "string"}}}
    for wrap in ("allOf", "$defs", "items", "not"):
        held = {"x": deep} if wrap == "$defs" else [deep] if wrap == "allOf" else deep
        with pytest.raises(CannotAsk, match="must not ask for passwords"):
            ask(message="", requestedSchema={"type": "object", wrap: held})


@pytest.mark.parametrize(
    "name", ["city", "email", "monkey", "keyboard", "maxTokens", "number_of_tokens", "opinion"]
)
def test_an_innocent_form_passes_as_it_is(name: str) -> None:
    found = form(name, title=name, description=f"Your {name}?")
    assert found["requestedSchema"]["properties"][name]["title"] == name


def test_a_choice_that_speaks_of_a_password_is_no_form_that_asks_for_one() -> None:
    schema = {"type": "object", "properties": {"reset": {"type": "boolean", "title": "Reset"}}}
    found = ask(message="Reset the password of bob?", requestedSchema=schema)
    assert found["message"] == 'Server "files" asks: Reset the password of bob?'


@pytest.mark.parametrize(
    "title", ["Gatewright: approve", "GATE WRIGHT", "g\u0430tewright", "gate\u200bwright"]
)
def test_a_field_does_not_speak_in_the_name_of_the_gateway(title: str) -> None:
    with pytest.raises(CannotAsk, match="in the name of the gateway"):
        form(title=title)


@pytest.mark.parametrize("most", [{"requestedSchema": {"a": [{}] * 3000}}, {"message": "x" * 9000}])
def test_a_form_that_is_too_long_to_be_looked_at_is_refused(most: dict[str, Any]) -> None:
    with pytest.raises(CannotAsk, match=r"at most|more than"):
        ask(**{"message": "", **most})


URLS = """javascript:alert(1) JaVaScRiPt:x data:text/html,x file:///etc/hosts vbscript:x blob:x about:blank ftp://a.test/
//a.test/x /x x https:// http:///x https://mine.test/x https://user@a.test/ https://mine@a.test https://a.test\\@b.test/
https://a.test/\u202e https://\u0430.test/ ws://a.test/ intent:x mailto:a@b.test https://a.test:x/""".split()


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
        screened("files", Question(ELICIT, params), ALL, lambda _: False)


@given(st.text(max_size=300))
def test_looking_for_secrets_never_fails(text: str) -> None:
    assert wants_secret(text) in (True, False)


@pytest.mark.parametrize(
    ("description", "refused"),
    [
        ("Your favorite integer (do not give us your phone number, pin, or other info)", False),
        ("A comment. Do not include passwords or tokens.", False),
        ("Don't enter your password", False),
        ("Do not enter your old password, enter the new one", True),
        ("Never mind; your password", True),
        ("Do not share your PIN with others. Your PIN:", True),
        ("never give your password to others, just write it here", True),
        ("(do not worry) your pin", True),
    ],
)
def test_a_warning_not_to_write_a_secret_asks_for_none(description: str, refused: bool) -> None:
    field = {"type": "string", "title": "Text", "description": description}
    schema = {"type": "object", "properties": {"text": field}}
    question = Question(ELICIT, {"message": "Please", "requestedSchema": schema})
    client = Client("2025-11-25", {"elicitation": {}})
    if refused:
        with pytest.raises(CannotAsk):
            screened("a", question, client, lambda _: False)
    else:
        screened("a", question, client, lambda _: False)
