"""A folder of a test that has no `tmp_path`: in memory where those are, so that databases wait for no disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["memory_folder"]


def memory_folder() -> Path:
    """A new one, which whoever asked for it removes (`conftest` says where those of tests are)."""
    return Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
