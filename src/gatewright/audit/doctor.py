"""`gatewright doctor` check: reports a state database that is older than the audit trail, or a lost trail; no gateway starts on either."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gatewright.cli.finding import Finding
from gatewright.command_text import to_type
from gatewright.storage.errors import StoreError

__all__ = ["check_anchors"]


def _fix() -> str:
    return (
        "put the right file back from a backup; or look at "
        f"`{to_type('grant list')}`, `{to_type('key list')}` and `{to_type('server pin')}`, and run "
        f"`{to_type('audit accept')}`"
    )


def check_anchors(folder: Path) -> Iterator[Finding]:
    """A finding for each store that is behind the record, and for a record that is gone."""
    from gatewright.audit.anchoring import wrong_in  # noqa: PLC0415 - with it comes the rest of the gateway

    try:
        wrong = wrong_in(folder) if folder.exists() else []
    except StoreError:  # `check_audit` says so
        return
    why = "the record knows more: what was forbidden may be allowed again, and no gateway starts on it"
    for one in wrong:
        yield Finding(
            check="state", subject=str(folder), level="problem", what=one, why=why, fix=_fix()
        )
