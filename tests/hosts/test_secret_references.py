"""Secrets move out of a server, and the server gets the same in the end."""

import re

from hypothesis import given
from hypothesis import strategies as st

from gatewright.hosts.model import Auth, Server
from gatewright.hosts.secret_references import moved, secure


def _moved(text: str, name: str = "") -> tuple[str, dict[str, str]]:
    kept: dict[str, str] = {}

    def keep(value: str) -> str:
        kept[f"s{len(kept)}"] = value
        return f"s{len(kept) - 1}"

    return moved(text, name, keep), kept


def test_a_literal_under_a_secret_name_moves_whole_and_a_reference_stays() -> None:
    assert _moved("abc", "TOKEN") == ("${secret:s0}", {"s0": "abc"})
    assert _moved("${TOKEN}", "TOKEN") == ("${TOKEN}", {})
    assert _moved("Bearer ${TOKEN}", "Authorization") == ("Bearer ${TOKEN}", {})
    assert _moved("a$${b}", "TOKEN") == ("${secret:s0}", {"s0": "a${b}"})
    assert _moved("${A}-x", "TOKEN") == ("${A}${secret:s0}", {"s0": "-x"})


def test_a_default_that_is_a_secret_does_not_stay_in_the_file() -> None:
    assert _moved("${TOKEN:-abc}", "TOKEN") == ("${secret:s0}", {"s0": "abc"})
    assert _moved("${A:-ghp_abcdefghijklmnop1234}") == (
        "${secret:s0}",
        {"s0": "ghp_abcdefghijklmnop1234"},
    )
    assert _moved("${A:-info}") == ("${A:-info}", {})


def test_each_part_of_a_server_is_cleaned_under_a_name_that_says_where_it_stood() -> None:
    secret = "ghp_abcdefghijklmnop1234"
    kept: dict[str, str] = {}

    def keep(name: str, value: str) -> str:
        kept[name] = value
        return name

    server = Server(
        id="x",
        transport="http",
        command=f"run {secret}",
        args=("--token", "abc", "--token", "--other", "-H", "Authorization: Bearer abc", "plain"),
        env={"PASSWORD": "abc", "MODE": "abc"},
        url="https://u:abc@h/",
        headers={"X-Api-Key": "abc"},
        auth=Auth(bearer="abc", client_secret="abc"),
    )
    clean = secure(server, keep)
    assert clean.command == "run ${secret:x.command}"
    assert clean.args == (
        "--token",
        "${secret:x.args.1}",
        "--token",
        "--other",
        "-H",
        "Authorization: Bearer ${secret:x.args.5}",
        "plain",
    )
    assert clean.env == {"PASSWORD": "${secret:x.PASSWORD}", "MODE": "abc"}
    assert clean.url == "https://u:${secret:x.url}@h/"
    assert clean.headers == {"X-Api-Key": "${secret:x.X-Api-Key}"}
    assert clean.auth == Auth(
        bearer="${secret:x.bearer}", client_secret="${secret:x.client_secret}"
    )
    assert set(kept.values()) == {"abc", secret}


@given(
    st.text(st.sampled_from("aB3$ {}:-=?&@/")),
    st.sampled_from(["", "TOKEN", "MODE"]),
)
def test_the_server_gets_the_same_text_to_the_letter(text: str, name: str) -> None:
    plain = text.replace("${", "$${")
    ours, kept = _moved(plain, name)

    def value(found: re.Match[str]) -> str:
        return "${" if found[0] == "$${" else kept[found[1]]

    assert re.sub(r"\$\$\{|\$\{secret:(s\d+)\}", value, ours) == text
