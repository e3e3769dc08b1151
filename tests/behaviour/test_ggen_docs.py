"""Every example in docs/ggen.md is run as it stands there."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from tests.behaviour.gateway import ROOT
from tests.behaviour.ggen_house import Firm

TEXT = (ROOT / "docs" / "ggen.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sh\n(curl .*?)```\n\n```json\n(.*?)```", TEXT, re.DOTALL)


def test_each_command_has_its_answer() -> None:
    assert len(EXAMPLES) == TEXT.count("```sh") == TEXT.count("```json") >= 4


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_answers_as_it_says(firm: Firm, number: int) -> None:
    """GGEN-ex-2, GGEN-auth-12, GGEN-core-4, GGEN-err-11: what a reader types is what a reader gets."""
    command, expected = EXAMPLES[number]
    base = firm.gateway.urls["rest"].removesuffix("/tools")
    done = subprocess.run(
        ["sh", "-c", command],
        env={"URL": base, "KEY": firm.keys["analyst"], "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
        timeout=30,
    )
    said: Any = json.loads(done.stdout)
    assert said == json.loads(expected)
