"""What is kept of the arguments of a call has no secret in it, and says what was cut."""

import json

import pytest

from gatewright.approvals import shown_arguments
from gatewright.approvals.request import Asked
from gatewright.approvals.shown_arguments import SHOWN_CHARS, shown
from gatewright.secret_scanning import without_secrets
from tests.audit.parts import approval

KEY = "hunter2Xq9" + "Lm4z" * 8
PEM = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQ7aB9xK" * 400 + "\n-----END PRIVATE KEY-----"
CALL = Asked("ann", "files", "wipe", "a", "d", "p")
FORMS = {
    "member": ({"password": KEY}, KEY),
    "context": ({"note": f"the password={KEY}; was changed"}, KEY),
    "token": ({"note": f"see ghp_{'aB3dE6gH9' * 4} there"}, "aB3dE6gH9" * 4),
    "lines": ({"note": PEM}, "MIIEvQ7aB9xK" * 400),
    "escapes": ({"note": f'\\"\\\\"token": "{KEY}"'}, KEY),
    "after": ({"env": [f"API_KEY={KEY}"], "list": ["a", "b"]}, KEY),
}


def longest_shared(text: str, secret: str) -> int:
    """How many characters of the beginning of a secret stand in a text."""
    absent = (size for size in range(1, len(secret) + 1) if secret[:size] not in text)
    return next(absent, len(secret) + 1) - 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("end", [SHOWN_CHARS, SHOWN_CHARS + 8 * 1024])
@pytest.mark.parametrize("over", [0, 200_000])
def test_no_secret_at_the_cut_is_kept_in_part(form: str, end: int, over: int) -> None:
    """In every place around the end of what is kept, and of what is looked through."""
    members, secret = FORMS[form]
    first = json.dumps(members)[1:-1]
    size, tail = len(first), "," + json.dumps({"z": "z " * (over // 2)})[1:-1]
    for at in range(end - size - 40, end + 40, max(11, size // 60)):
        text = "{" + json.dumps({"a": "b " * ((at - 8) // 2)})[1:-1] + "," + first + tail + "}"
        kept = shown(text)
        assert longest_shared(kept, secret) < 6
        cut = kept.endswith(f"… ({len(text)} characters)")
        assert cut or kept == without_secrets(text.encode()).decode()


@pytest.mark.parametrize("size", [10, SHOWN_CHARS, 100_000, 1_000_000])
@pytest.mark.parametrize("unit", ["password=abcd1234; ", "\\", '"', "\\u0041", "x"])
def test_no_more_is_looked_through_than_is_kept_and_a_little(
    size: int, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def clean(text: bytes) -> bytes:
        looked.append(len(text))
        return without_secrets(text)

    monkeypatch.setattr(shown_arguments, "without_secrets", clean)
    text = json.dumps({"a": unit * (size // len(unit))})
    kept = shown(text)
    assert sum(looked) <= min(len(text), SHOWN_CHARS + 8 * 1024 + 1)
    assert len(kept) <= SHOWN_CHARS + 40
    assert bool(approval(CALL, arguments=kept).unseen) == (not kept.endswith("}"))


def test_what_is_not_shown_is_said_however_much_is_kept() -> None:
    kept = shown(json.dumps({"a": f"password={'abcd1234' * 25}; " * 1000}))
    assert len(kept) < SHOWN_CHARS
    assert approval(CALL, arguments=kept).unseen.startswith("of 211009 characters of arguments")
    assert not approval(CALL, arguments='{"a":"… (3 characters)"}').unseen
