"""What the doctor looks at is all here."""

from gatewright.cli import checks
from gatewright.cli.checks import state
from gatewright.servers import doctor


def test_every_check_is_offered_under_one_roof() -> None:
    assert checks.check_audit is state.check_audit
    assert checks.check_servers is doctor.check_servers
    assert all(callable(getattr(checks, name)) for name in checks.__all__ if name != "Level")
