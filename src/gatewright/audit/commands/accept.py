"""`gatewright audit accept`: records that the present state is correct although the audit trail says it is lost or older."""

from __future__ import annotations

import os
import time

from gatewright.cli.operators import require_operator
from gatewright.cli.options import Config, Json, KeyText
from gatewright.cli.output import note, print_document, print_line
from gatewright.config import load

__all__ = ["accept"]


def accept(key: KeyText = None, config: Config = None, json: Json = False) -> None:
    """Go on with grants, keys, pins and approvals as they are, where a file is gone or is an older copy.

    For a gateway that does not run. Whatever was forbidden in the meantime has to be forbidden again: look first.
    """
    # What opens the record takes its time; the other commands of the group do without.
    from gatewright.audit.anchoring import accept as accepted  # noqa: PLC0415
    from gatewright.audit.anchoring import wrong_in  # noqa: PLC0415
    from gatewright.audit.trail import AuditLog  # noqa: PLC0415

    settings = load(config)
    folder, by = settings.storage.path, require_operator(settings, key, as_found=True)
    wrong = wrong_in(folder)
    if wrong:
        log = AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom)
        try:
            accepted(folder, log, by, wrong)
        finally:
            log.finish()
    if json:
        print_document({"by": by, "accepted": wrong})
        return
    for one in wrong:
        print_line((one,))
    note("the record says so now" if wrong else "the stores are what the record knows")
