"""Names and values of secrets."""

import pytest

from gatewright.config.secret_rules import MAX_BYTES, check_name, check_value


@pytest.mark.parametrize("name", ["a", "A.b-c_9", "9", "x" * 128])
def test_plain_names_are_names(name: str) -> None:
    check_name(name)
    assert name


@pytest.mark.parametrize(
    "name", ["", ".a", "-a", "a b", "a/b", "a}", "a=b", "ä", "a\n", "x" * 129, "../x"]
)
def test_other_names_are_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a secret") as found:
        check_name(name)
    assert len(name) < 2 or name not in str(found.value)


def test_text_is_a_value_and_its_length_has_an_end() -> None:
    check_value("x" * MAX_BYTES)
    check_value("two\nlines ä")
    with pytest.raises(ValueError, match="longer than"):
        check_value("x" * (MAX_BYTES + 1))


@pytest.mark.parametrize("value", ["", "a\0b", "\ud800"])
def test_what_no_environment_carries_is_no_value(value: str) -> None:
    with pytest.raises(ValueError, match=r"empty|NUL|UTF-8"):
        check_value(value)
