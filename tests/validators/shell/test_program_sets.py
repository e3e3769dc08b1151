"""Programs with a part of their own in the policy: each is known to the table, so that its part is ever asked for."""

import pytest

from gatewright.validators.shell.program_sets import REPLACING, SERVING, TESTING
from gatewright.validators.shell.table import table


@pytest.mark.parametrize("name", sorted({*REPLACING, *SERVING, *TESTING}))
def test_a_program_with_a_part_is_in_the_table(name: str) -> None:
    known = table()
    assert (
        name in known.entries
        or name in known.parents
        or name.replace("python3", "python") in known.entries
    )
