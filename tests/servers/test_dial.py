from __future__ import annotations

import subprocess
import sys

import pytest

from gatewright.mcp.client.connect import Around
from gatewright.mcp.client.link import ServerFailed
from gatewright.servers.dial import reach
from gatewright.servers.spec import ServerSpec
from tests.servers.rig import INFO


class Ear:
    """Hears nothing in these tests."""


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ServerSpec(id="a", transport="python", python="no_such_module"), "no such module"),
        (ServerSpec(id="a", transport="stdio", command="no-such-program-here"), "no-such-program"),
    ],
)
async def test_each_way_fails_with_its_own_reason(spec: ServerSpec, words: str) -> None:
    around = Around(INFO, Ear(), lambda: lambda line: None, lambda link: None)  # type: ignore[arg-type]
    with pytest.raises(ServerFailed, match=words):
        await reach(spec, around, {})


def test_a_gateway_without_python_tools_does_not_load_what_serves_them() -> None:
    program = (
        "import sys, gatewright.servers.supervisor; print('gatewright.sdk.server' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout == "False\n"
