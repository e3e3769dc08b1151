"""Patterns of card numbers, IBAN, phone, e-mail, US SSN (`PERSONAL`) and `is_…` checks of what they match: form, check digits. Pure."""

from __future__ import annotations

from gatewright.patterns import ASCII, Pattern

__all__ = ["PERSONAL", "is_card", "is_email", "is_iban", "is_phone", "is_us_ssn"]

_TOP = r"(?:[A-Za-z]{2,24}\b|(?:[\xc2-\xf4][\x80-\xbf]{1,3}){2,12})"

_CALLED = (
    r"(?:(?i:\b(?:tele)?phone(?:[ _]?(?:number|no))?|\btel(?:ephone|efon|efono|efoon)?|\bmobile|\bhandy|\bmobil|\bfax|\bcell|"
    r"\bcall (?:me|us)(?: at| on)?|\bwhatsapp|\bsms)|\bT\xc3\xa9l|[Mm]\xc3\xb3vil|[\xd0\xa2\xd1][\x82\xa2]?\xd0\xb5\xd0\xbb|"
    r"\xe7\x94\xb5\xe8\xaf\x9d|\xe9\x9b\xbb\xe8\xa9\xb1|\xe6\x90\xba\xe5\xb8\xaf)"
)
"""What a number in a country's own spelling is introduced by; without that it may be any number."""

PERSONAL: dict[str, tuple[str, str]] = {
    "email": (
        r"@(?:[A-Za-z0-9\x80-\xff]|\\u)",
        r"[A-Za-z0-9._%+'\x80-\xff-]{1,64}@(?:[A-Za-z0-9\x80-\xff](?:[A-Za-z0-9\x80-\xff-]{0,62})[.]){1,8}"
        + _TOP,
    ),
    "card": ("[0-9](?:[ -]?[0-9]){12}", r"\b[0-9](?:[ -]?[0-9]){12,18}\b"),
    "iban": (
        "[A-Z]{2}[0-9]{2}[ -]?[A-Z0-9]{4}|[a-z]{2}[0-9]{2} ?[a-z0-9]{4}",
        r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]){11,30}\b|\b[a-z]{2}[0-9]{2}(?: ?[a-z0-9]{4}){2,7}[a-z0-9 ]{0,4}\b",
    ),
    "phone": (
        (
            rf"[+][1-9]|\b00[1-9][0-9]?[ /-]|{_CALLED}[^0-9\r\n+]{{0,12}}[0-9]|"
            r"\\u(?:00e9l|00f3vil|0435\\u043b|8bdd|8a71|5e2f)"
        ),
        (
            r"[+][1-9](?:[ ().\x2f-]{0,3}[0-9]){6,14}\b|\b00[1-9](?:[ ().\x2f-]{0,3}[0-9]){7,14}\b|"
            rf"{_CALLED}[\"':.\x2f \t=-]{{1,8}}(?:\xef\xbc\x9a)?[(]?[0-9](?:[ ().\x2f-]{{0,2}}[0-9]){{6,12}}\b|"
            rf"{_CALLED}\xef\xbc\x9a[ ]?[(]?[0-9](?:[ ().\x2f-]{{0,2}}[0-9]){{6,12}}\b"
        ),
    ),
    "us_ssn": (
        "[0-9]{3}-[0-9]{2}-[0-9]{4}|(?i:ssn|social security).{0,12}[0-9]{3}[ .]?[0-9]{2}[ .]?[0-9]{4}",
        r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b|(?i:ssn|social security)[^0-9]{1,12}[0-9]{3}[ .]?[0-9]{2}[ .]?[0-9]{4}\b",
    ),
}
"""Kind → (what the text must hold for it to be worth a look, the pattern), RE2 on bytes."""

_BRANDS = Pattern(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"
    r"|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|62\d{14,17}|220[0-4]\d{12}|9792\d{12}|(?:50|5[6-9]|6[0137])\d{11,17}"
)
_DECIMALS = Pattern(r"\d[.]\Z")
_CARD_WORD = Pattern(r"(?i:card|visa|amex|master|credit|debit|\bpan\b|karte|carte|tarjeta)", ASCII)
_IBAN_LENGTHS = {
    word[:2]: int(word[2:])
    for word in (
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 "
        "EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 "
        "IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 "
        "NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 "
        "SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
    ).split()
}
"""Country → characters of its IBAN (the registry of ISO 13616)."""


def is_card(text: str, before: str = "") -> bool:
    """A payment card's number: the Luhn digit, and a brand's first digits and length or a word `before`
    it that says what it is."""
    # The decimals of a number, which may have sixteen of them.
    if _DECIMALS.within(before):
        return False
    digits = text.replace(" ", "").replace("-", "")
    if len(set(digits)) < 2 or not (_BRANDS.fits(digits) or _CARD_WORD.within(before)):
        return False
    # Luhn (ISO/IEC 7812).
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    total = sum(map(int, digits[-1::-2])) + sum(one - 9 if one > 9 else one for one in doubled)
    return total % 10 == 0


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter in "0123456789")


def is_iban(text: str) -> int:
    """How much of the text is an IBAN: its country's length, and 1 as the remainder by 97. 0 for none."""
    size = _IBAN_LENGTHS.get(text[:2].upper(), 0)
    ends = [at + 1 for at, letter in enumerate(text) if letter not in " -"]
    if not size or len(ends) < size:
        return 0
    compact = text[: ends[size - 1]].replace(" ", "").replace("-", "")
    turned = compact[4:] + compact[:4]
    # ISO 13616: the first four to the end, letters as 10 to 35, and 1 as the remainder by 97.
    number = int("".join(str(int(letter, 36)) for letter in turned))
    return ends[size - 1] if number % 97 == 1 else 0


def is_phone(text: str) -> bool:
    """A number in the international form of E.164: 8 to 15 digits, 11 in North America, and no run of one digit."""
    digits = _digits(text)
    if not text.startswith("+"):
        return 7 <= len(digits) <= 17 and len(set(digits)) > 2
    if digits[:1] == "1" and len(digits) != 11:
        return False
    return 8 <= len(digits) <= 15 and len(set(digits)) > 2


def is_email(text: str) -> bool:
    """An address, and no `git@host`, no picture in a second resolution (`logo@2x.png`), no unit of systemd."""
    return not text.startswith("git@") and not _NO_MAIL.within(text)


_NO_MAIL = Pattern(r"@\dx\.[a-z]{2,4}\Z|\.(?:service|socket|timer|mount|slice|target)\Z")


def is_us_ssn(text: str) -> bool:
    """A number that the US social security administration could have given out."""
    digits = _digits(text)[-9:]
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"
