"""Personal data with check digits, and without."""

from __future__ import annotations

import pytest

from gatewright.secret_scanning.personal import PERSONAL, is_card, is_iban, is_phone, is_us_ssn
from gatewright.secret_scanning.scanner import scanner


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "5500-0055-5555-5559",
        "378282246310005",
        "2200634648485068",
        "9792623079868305",
    ],
)
def test_cards_of_known_brands_pass_by_their_luhn_digit(number: str) -> None:
    assert is_card(number)
    assert not is_card(number[:-1] + str((int(number[-1]) + 1) % 10))


def test_a_number_of_no_brand_is_a_card_where_a_word_before_it_says_so() -> None:
    assert is_card("3774173573731604", "paid with card ")
    assert not is_card("3774173573731604", "order ")


def test_the_decimals_of_a_number_are_no_card() -> None:
    assert not is_card("4111111111111111", "ratio 0.")
    assert is_card("4111111111111111", "it is paid. ")


def test_an_iban_has_its_countrys_length_and_the_remainder_one() -> None:
    assert is_iban("GB82 WEST 1234 5698 7654 32") == 27
    assert is_iban("DE89370400440532013000 AND MORE") == 22
    assert not is_iban("DE88370400440532013000")
    assert is_iban("gb82west12345698765432") == 22
    assert not is_iban("XX82WEST12345698765432")


def test_phone_numbers_have_eight_to_fifteen_digits() -> None:
    assert is_phone("+49 30 90182069")
    assert not is_phone("+1234567")
    assert not is_phone("+11111111111")


def test_a_phone_number_of_north_america_has_eleven_digits() -> None:
    assert is_phone("+1 415 555 2671")
    assert not is_phone("+12345678")
    assert not is_phone("+1 415 555 267 123")


@pytest.mark.parametrize(
    "number", ["000-12-3456", "666-12-3456", "900-12-3456", "123-00-3456", "123-45-0000"]
)
def test_numbers_that_were_never_given_out_are_no_ssn(number: str) -> None:
    assert not is_us_ssn(number)
    assert is_us_ssn("123-45-6789")


@pytest.mark.parametrize(
    ("kind", "text", "secret"),
    [
        (
            "email",
            "write to first.last+tag@sub.example.co.uk today",
            "first.last+tag@sub.example.co.uk",
        ),
        ("card", "card 4111 1111 1111 1111 ok", "4111 1111 1111 1111"),
        ("iban", "to GB82WEST12345698765432.", "GB82WEST12345698765432"),
        ("phone", "call +1 (415) 555-7134 now", "+1 (415) 555-7134"),
        ("us_ssn", "SSN: 123-45-6789", "123-45-6789"),
        ("us_ssn", "SSN 123 45 6789", "SSN 123 45 6789"),
        ("iban", "to gb82west12345698765432.", "gb82west12345698765432"),
        ("email", "an 用户@例子.广告 schreiben", "用户@例子.广告"),
    ],
)
def test_each_kind_is_taken_out_only_where_it_is_asked_for(
    kind: str, text: str, secret: str
) -> None:
    """GRH-out-2"""
    asked = scanner(secrets=False, personal=frozenset({kind}))
    found = asked.replaced(text.encode(), lambda rule, _: rule.encode())[0].decode()
    assert found == text.replace(secret, kind)
    others = scanner(secrets=True, personal=frozenset(PERSONAL) - {kind})
    assert others.replaced(text.encode(), lambda rule, _: b"")[0].decode() == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2026-11-20T10:00:00+01:00",
            "port 8080-8090",
            "size 4096-2048-1024-512",
            "@mention and #tag",
            "user@ is missing",
            "logo@2x.png",
        ),
        *(
            "git@github.com:owner/name.git",
            "id 12345678901234567890",
            "timestamp 1763683200123",
            "pkg@1.2.3",
            "a+123456789",
        ),
    ],
)
def test_numbers_and_signs_of_other_kinds_stay(text: str) -> None:
    every = scanner(secrets=True, personal=frozenset(PERSONAL))
    assert every.replaced(text.encode(), lambda rule, _: b"")[0].decode() == text
