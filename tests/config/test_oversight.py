"""How people see what happens: what holds where nothing is written, and what must not be shown."""

from gatewright.config.oversight import Approvals, Audit, AuditSink, Permissions


def test_an_operator_decides_about_permissions_unless_somebody_says_otherwise() -> None:
    """MGP-3.3-1"""
    assert Permissions().policy == "interactive"
    assert (Approvals().quorum, Audit().retention_days) == (1, 90)


def test_addresses_and_headers_of_sinks_are_shown_nowhere() -> None:
    sink = AuditSink(name="siem", type="http", url="https://x/?k=s3cret", headers={"a": "s3cret"})
    assert "s3cret" not in repr(sink)
