"""The examples of docs/authors.md, client.md and server-sdk.md, run as they stand, from top to bottom."""

from __future__ import annotations

import re
import sys
import types

import pytest

from gatewright.sdk import REGISTRY
from tests.behaviour.gateway import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "blocks"), [("authors.md", 5), ("client.md", 6), ("server-sdk.md", 5)]
)
def test_every_example_of_a_page_runs(
    page: str, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    before = {tool.name for tool in REGISTRY}
    found = BLOCK.findall((ROOT / "docs" / page).read_text())
    assert len(found) >= blocks
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where a dataclass looks for its names
    names = vars(module)
    for code in found:
        exec(compile(code, page, "exec", dont_inherit=True), names)  # noqa: S102 - our own pages
    for tool in list(REGISTRY):
        if tool.name not in before:
            REGISTRY.unregister(tool.name)
    assert len(names) > blocks
