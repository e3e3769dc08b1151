"""Addresses in the texts of a question, however they are written."""

from __future__ import annotations

import contextlib
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import CannotAsk
from gatewright.servers.gateway_url_check import judge_addresses
from gatewright.transport.slices import whole

OUR_PORT = 8425


def is_ours(url: str) -> bool:
    parts = urlsplit(url)
    return parts.hostname in ("localhost", "127.0.0.1", "::1", "2130706433", "gw") and (
        parts.port == OUR_PORT or "approvals" in parts.path
    )


def leads(text: str) -> bool:
    heard: list[bool] = []

    def ours(url: str) -> bool:
        heard.append(is_ours(url))
        return heard[-1]

    with contextlib.suppress(CannotAsk):
        whole(judge_addresses(["first", text], ours))
        assert True not in heard
    return True in heard


ADDRESSES = [
    "http://127.0.0.1:8425/approvals/T",
    "https://localhost/approvals/T",
    "HTTP://LOCALHOST:8425",
    "localhost:8425",
    "localhost/approvals/T",
    "127.0.0.1/approvals/T",
    "//localhost:8425/x",
    "http:127.0.0.1:8425",
    "http:\\\\localhost:8425",
    "http://user@localhost:8425/",
    "http://[::1]:8425/",
    "[::1]:8425",
    "http://2130706433/approvals/T",
    "http://gw/approvals/T",
    "http://127\u30020\uff610\uff0e1:8425/",
    "http\uff1a//localhost\uff1a8425",
    "\uff4c\uff4f\uff43\uff41\uff4chost:8425",
    "local\u00adhost:8425",
    "local\u200bhost:8425",
    "https://evil.test/?next=http://localhost:8425/x",
    "https://evil.test/http://localhost:8425/x",
    "http://127.0.0.1&#58;8425/",
    "http&colon;//localhost&#x3a;8425/x",
    "http://127&#46;0&period;0&#0046;1:8425/",
    "&#104;ttp://&#108;ocalhost&#58;8425",
    "localhost\\:8425",
    "http://127\\.0\\.0\\.1&#92;:8425/",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "around",
    [
        "%s",
        "To go on open %s.",
        "[here](%s)",
        "<%s>",
        '"%s"',
        "see:%s, then come back",
        "\u8bf7\u6253\u5f00%s\u3002",
        "a/b %s\n",
    ],
)
def test_an_address_is_found_whatever_stands_around_it(address: str, around: str) -> None:
    assert leads(around % address)


@pytest.mark.parametrize(
    "text",
    [
        "who?",
        "and/or",
        "a local file in /tmp/approvals/x",
        "Version 1.2.3:8425",
        "https://example.test/approvals/x",
        "http://localhost:3000/callback",
        "12:30 or 8425",
        "e.g. name@example.test",
        "",
        "\u3002:/[]",
    ],
)
def test_other_words_lead_nowhere(text: str) -> None:
    assert not leads(text)


def test_texts_of_very_many_addresses_are_no_question() -> None:
    whole(judge_addresses(["setup.py", "a.b/c", "https://a.test/x"] * 150, is_ours))
    with pytest.raises(CannotAsk, match="more than 1000 addresses"):
        whole(judge_addresses(["a.b/c"] * 501, is_ours))


@given(st.text(st.characters(codec="utf-8"), max_size=100))
def test_no_text_stops_the_search(text: str) -> None:
    assert leads(f"{text} http://localhost:8425/ {text}")
