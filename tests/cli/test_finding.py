"""A finding says the same to programs as to people, and never its own function."""

from gatewright.cli.finding import Finding


def test_a_finding_is_a_document_without_its_mend() -> None:
    found = Finding(check="state", subject="x", level="problem", what="wide", mend=lambda: None)
    assert found.document() == {
        "check": "state",
        "subject": "x",
        "level": "problem",
        "what": "wide",
        "why": "",
        "fix": "",
        "fixed": False,
        "fixable": True,
    }
