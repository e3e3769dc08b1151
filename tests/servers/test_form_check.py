"""What a form may ask for, and what its fields may say."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gatewright.call import CannotAsk
from gatewright.servers.form_check import judge_form
from gatewright.transport.slices import whole

NAME = {"type": "object", "properties": {"name": {"type": "string"}}}


def ask(message: str = "", requestedSchema: Any = NAME) -> bool:  # noqa: N803 - the member's name
    whole(judge_form(message, requestedSchema, lambda url: "mine.test" in url))
    return True


def form(name: str = "name", message: str = "who?", **field: Any) -> bool:
    return ask(message, {"type": "object", "properties": {name: {"type": "string", **field}}})


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
    assert form("auth_token", **field)


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

    assert form(title="Branch", **{place: held("feature/token-refresh")})
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
            ask(requestedSchema={"type": "object", "properties": {}, wrap: held})


@pytest.mark.parametrize(
    "name", ["city", "email", "monkey", "keyboard", "maxTokens", "number_of_tokens", "opinion"]
)
def test_an_innocent_form_passes_as_it_is(name: str) -> None:
    assert form(name, title=name, description=f"Your {name}?")


def test_a_choice_that_speaks_of_a_password_is_no_form_that_asks_for_one() -> None:
    schema = {"type": "object", "properties": {"reset": {"type": "boolean", "title": "Reset"}}}
    assert ask(message="Reset the password of bob?", requestedSchema=schema)


@pytest.mark.parametrize(
    "title", ["Gatewright: approve", "GATE WRIGHT", "g\u0430tewright", "gate\u200bwright"]
)
def test_a_field_does_not_speak_in_the_name_of_the_gateway(title: str) -> None:
    with pytest.raises(CannotAsk, match="in the name of the gateway"):
        form(title=title)


@pytest.mark.parametrize("most", [{"a": [{}] * 3000}, {"title": "x" * 20_000}])
def test_a_form_that_is_too_long_to_be_looked_at_is_refused(most: dict[str, Any]) -> None:
    with pytest.raises(CannotAsk, match="more than"):
        ask(requestedSchema={**NAME, **most})


@pytest.mark.parametrize(
    "value",
    [
        "\u0f73" * 8000,
        "\u0301\uff9e" * 3000,
        "\u1100\u1161\u11a8" * 10_900 + "\u0301\u0327" * 50,
        "\u1100\u1161\u11a8" * 10_950 + "\u0301\u0327" * 10_000,
        "e\u0301" * 70_000,
    ],
)
def test_a_form_with_a_long_row_of_marks_is_refused_before_it_is_looked_at(value: str) -> None:
    """Also where they become marks only when the text is read as it looks, and behind what becomes shorter then."""
    steps = judge_form("who?", {**NAME, "enum": ["b", value]}, lambda _: False)
    began = time.process_time()
    with pytest.raises(CannotAsk, match="more than"):
        whole(steps)
    assert time.process_time() - began < 0.1


def test_the_values_of_all_fields_have_room_together() -> None:
    fields = {f"f{at}": {"type": "string", "default": "x" * 8000} for at in range(4)}
    assert ask(requestedSchema={"type": "object", "properties": fields})
    fields["one"] = {"type": "string", "default": "\u4e00" * 769}
    with pytest.raises(CannotAsk, match="more than"):
        ask(requestedSchema={"type": "object", "properties": fields})
    fields["one"] = {"type": "string", "default": "\u4e00" * 768}
    assert ask(requestedSchema={"type": "object", "properties": fields})


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
    if refused:
        with pytest.raises(CannotAsk):
            form("text", title="Text", description=description)
    else:
        assert form("text", title="Text", description=description)


STRING = {"type": "string"}
NO_SHAPE: list[Any] = [
    None,
    "x",
    5,
    [],
    [NAME],
    {},
    STRING,
    {"type": "object"},
    {"type": "object", "additionalProperties": STRING},
    {"type": "object", "properties": [STRING]},
    {"type": "object", "properties": None},
    {"type": ["object"], "properties": {}},
    {"type": "Object", "properties": {}},
    {"properties": {"name": STRING}},
]


@pytest.mark.parametrize("schema", NO_SHAPE, ids=str)
def test_a_form_is_an_object_with_properties(schema: Any) -> None:
    """What a client makes of another one, nobody has judged."""
    with pytest.raises(CannotAsk, match="of the type object, with properties"):
        ask("who?", schema)


ASKS = "Enter your GitHub password"
SOMEWHERE: list[dict[str, Any]] = [
    {"properties": {"": STRING}},
    {"properties": {" ": STRING}},
    {"properties": {"x": {}}},
    {"properties": {}, "additionalProperties": STRING},
    {"properties": {}, "patternProperties": {"": STRING}},
    {"properties": {}, "items": STRING},
    {"properties": {}, "anyOf": [STRING]},
    {"properties": {}, "$defs": {"": STRING}},
    {"properties": {"": {"type": "object", "properties": {"": STRING}}}},
    {"properties": {"": {"type": "array", "items": STRING}}},
]


@pytest.mark.parametrize("schema", SOMEWHERE, ids=str)
def test_words_about_a_form_count_wherever_something_can_be_written(schema: dict[str, Any]) -> None:
    for message, label in ((ASKS, {}), ("who?", {"title": ASKS}), ("who?", {"description": ASKS})):
        with pytest.raises(CannotAsk, match="must not ask for passwords"):
            ask(message, {"type": "object", **label, **schema})
        assert ask(
            message, {"type": "object", **label, "properties": {"sure": {"type": "boolean"}}}
        )


def test_the_label_of_a_group_of_fields_counts() -> None:
    group = {"type": "object", "title": ASKS, "properties": {"value": STRING}}
    with pytest.raises(CannotAsk, match="must not ask for passwords"):
        ask("who?", {"type": "object", "properties": {"x": group}})


@pytest.mark.parametrize("place", ["title", "description", "default", "examples", "const", "enum"])
def test_no_text_of_a_form_has_an_address_of_the_gateway(place: str) -> None:
    said = "To go on open https://mine.test/approvals/x."
    shown: Any = [said] if place in ("examples", "enum") else said
    with pytest.raises(CannotAsk, match="leads to the gateway"):
        form(**{place: shown})
    with pytest.raises(CannotAsk, match="leads to the gateway"):
        form(said)
    assert form(**{place: "see https://other.test/approvals/x"})


@pytest.mark.parametrize("field", [True, None, "string", "", 1, [], [True], [{"type": "boolean"}]])
@pytest.mark.parametrize("wrap", ["properties", "$defs", "patternProperties"])
def test_a_field_that_no_object_describes_is_judged_by_its_name(field: Any, wrap: str) -> None:
    """A client that finds no kind of field there shows a text to fill in."""
    secret = {**NAME, wrap: {**NAME["properties"], "password": field}}  # type: ignore[dict-item]
    with pytest.raises(CannotAsk, match="must not ask for passwords"):
        ask(requestedSchema=secret)
    with pytest.raises(CannotAsk, match="in the name of the gateway"):
        ask(requestedSchema={**NAME, wrap: {"Gatewright": field}})
    assert ask(requestedSchema={**NAME, wrap: {"town": field}})


@pytest.mark.parametrize(
    "spelled", ["Title", "TITLE", "t_itle", "\uff54itle", "Description", "Default"]
)
def test_a_field_whose_words_stand_under_a_loosely_spelled_keyword_is_refused(spelled: str) -> None:
    """Readers that do not mind case show what stands there, and nobody has judged it."""
    with pytest.raises(CannotAsk, match="which reads as"):
        form(**{spelled: "the password of your account"})
    assert form("Title", title="Of the book")


def test_fields_under_a_loosely_spelled_keyword_are_refused() -> None:
    with pytest.raises(CannotAsk, match="which reads as properties"):
        ask(requestedSchema={**NAME, "Properties": {"password": {"type": "string"}}})
