"""Bounds that tables share."""

import msgspec
import pytest

from gatewright.audit.groundhog_events import CLASSES
from gatewright.config.bounds import Count, EventClass, Name, Seconds


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [(Count, 1, 0), (Seconds, 0.5, 0.0), (Seconds, 86400.0, 86401.0), (Name, "a", "")],
)
def test_what_is_out_of_bounds_is_refused(kind: object, good: object, bad: object) -> None:
    assert msgspec.convert(good, kind) == good
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(bad, kind)


def test_the_classes_of_settings_are_those_of_the_events() -> None:
    """GRH-cfg-9."""
    assert [msgspec.convert(one, EventClass) for one in CLASSES] == list(CLASSES)
