"""The configuration as rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gatewright.cli.config_values import origin_of, text_of, values_of
from gatewright.config import load
from gatewright.config.build import build
from gatewright.config.documents import parse

FILE = Path("/project/mgp.toml")
TEXT = """\
[gateway]
port = 1
[[servers]]
id = "a"
command = "x"
args = ["${NONE}", "b"]
env = { K = "${NONE}" }
"""


def test_a_server_that_stays_down_is_shown_with_why_and_in_its_own_words() -> None:
    settings = build([parse(TEXT, FILE)], {}, Path("/state"))
    found = values_of(settings)
    assert found["servers.a.stays_down"] == "the environment variable NONE is not set"
    assert found["servers.a.args"] == ["${NONE}"]
    assert origin_of(settings, "gateway.port") == "/project/mgp.toml:2"
    assert origin_of(settings, "gateway.host") is None


def test_every_table_is_there_and_nothing_of_how_it_was_read() -> None:
    found = values_of(build([parse(TEXT, FILE)], {"NONE": "n"}, Path("/state")))
    tables = {key.partition(".")[0] for key in found}
    assert {"gateway", "storage", "limits", "audit", "secrets", "servers"} <= tables
    assert not {"files", "warnings", "origins"} & tables


def test_values_are_short_texts() -> None:
    values: list[Any] = [True, None, ("a", "b"), 1.5, {}]
    assert [text_of(one) for one in values] == ["true", "", "a, b", "1.5", ""]


def test_a_secret_among_arguments_and_in_an_address_is_not_shown(tmp_path: Path) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    (tmp_path / "mgp.toml").write_text(
        f"""
        [[servers]]
        id = "one"
        command = "x"
        args = ["--password", "letmein", "--token={token}", "--level", "3"]
        [[servers]]
        id = "two"
        url = "http://me:hunter22@127.0.0.1:9/mcp"
        """
    )
    found = values_of(load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)}))
    shown = [value for key, value in found.items() if key.startswith("servers.one.args")]
    text = repr(shown) + repr(found["servers.two.url"])
    assert [one for one in ("letmein", token, "hunter22") if one in text] == []
    assert "--level" in text


def test_what_a_sink_is_let_in_with_is_not_shown() -> None:
    text = (
        '[[audit.sinks]]\nname = "a"\ntype = "http"\nurl = "https://u:hunter2@siem.example/x"\n'
        'headers = { One = "Bearer hunter2", Two = "${secret:siem}" }\n'
        '[[audit.sinks]]\nname = "b"\ntype = "postgres"\ndsn = "postgresql://u:hunter2@h/d"\n'
    )
    found = values_of(build([parse(text, FILE)], {}, Path("/state")))
    assert "hunter2" not in str(found)
    assert found["audit.sinks.0.headers.Two"] == "${secret:siem}"


def test_what_an_api_is_shown_is_not_shown_here() -> None:
    text = (
        '[[servers]]\nid = "pets"\nopenapi = "https://u:hunter2@docs.example/api.json"\n'
        'base_url = "https://u:hunter2@pets.example/v1"\n'
        'credentials = { one = "hunter2", two = "${KEY}" }\n'
    )
    found = values_of(build([parse(text, FILE)], {"KEY": "hunter2"}, Path("/state")))
    assert "hunter2" not in str(found)
    assert found["servers.pets.credentials.two"] == "${KEY}"


def test_a_secret_in_the_address_that_hears_of_approvals_is_not_shown() -> None:
    for address, shown in (
        ("https://me:hunter2hunter2@hooks.example/x", False),
        ("https://hooks.example/ghp_16C7e42F292c6912E7710c838347Ae178B4a", False),
        ("https://hooks.example/approvals", True),
    ):
        text = f'[approvals]\nwebhook = "{address}"\n'
        found = values_of(build([parse(text, FILE)], {}, Path("/state")))
        assert (found["approvals.webhook"] == address) is shown
        assert shown or found["approvals.webhook"].startswith("https://")
