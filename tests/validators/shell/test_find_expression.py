"""Which tests of `find` choose."""

import pytest

from gatewright.validators.shell.find_expression import chooses


@pytest.mark.parametrize(
    ("tests", "chosen"),
    [
        ("-name *.pyc", True),
        ("-type f -name x", True),
        ("-name a -o -name b", True),
        ("-path */build/*", True),
        ("-empty", True),
        ("-type f", False),
        ("-size +0", False),
        ("-mtime +0", False),
        ("-name *", False),
        ("-name ?*", False),
        ("-name [!x]*", False),
        ("! -name x", False),
        ("-name a -o -type f", False),
        ("-name a , -type f", False),
        ("-not ( -name a )", False),
        ("", False),
    ],
)
def test_only_names_choose(tests: str, chosen: bool) -> None:
    assert chooses(tests.split()) is chosen
