"""Which URLs lead to the gateway itself, however they are written."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from gatewright.config import Settings, load
from gatewright.servers.own_urls import OwnUrls, ours_of


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "mgp.toml"
    file.write_text('[gateway]\nport = 7777\nallowed_hosts = ["gw.test", "other.test:99"]\n')
    return load(file)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:7777/mcp",
        "http://localhost:7777/",
        "http://LOCALHOST:7777/",
        "http://ip6-localhost:7777/",
        "http://ip6-loopback/approvals/abc",
        "http://localhost.localdomain:7777/",
        "http://localhost6:7777/",
        "http://localhost.:7777/",
        "http://x.localhost:7777/",
        "http://[::1]:7777/",
        "http://[::ffff:127.0.0.1]:7777/",
        "http://127.1:7777/",
        "http://0x7f.1:7777/",
        "http://2130706433:7777/",
        "http://0177.0.0.1:7777/",
        "http://0.0.0.0:7777/",
        "http://127.8.8.8:7777/",
        "http://localhost:1/approvals/abc",
        "http://localhost:1/x/../approvals/abc",
        "http://localhost:1/Approvals/abc",
        "http://localhost:1/%61pprovals/abc",
        "http://127%2e0%2e0%2e1:7777/",
        "http://%6cocalhost:7777/",
        "http://local%C2%ADhost:7777/",
        "http://local\u00adhost:7777/",
        "http://127\u30020\u30020\u30021:7777/",
        "http://\u2460\u2461\u2466.0.0.1:7777/x/../approvals/abc",
        "http://[0:0:0:0:0:0:0:0]:7777/",
        "http://[::ffff:0:0]:7777/",
        "http://[0:0:0:0:0:0:0:1]:7777/",
        "http://[::1%25lo]:7777/",
        "http://0:7777/",
        "http://0x0:7777/",
        "https://gw%2etest/approvals/abc",
        "https://gw.test./approvals/abc",
        "https://gw.test:7777/",
        "https://gw.test/approvals/abc",
        "https://other.test/approvals/abc",
    ],
)
def test_what_leads_to_the_gateway_is_known(url: str, settings: Settings) -> None:
    assert ours_of(settings, "approvals")(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:3000/callback",
        "https://example.test/approvals/abc",
        "https://example.test:7777/",
        "https://gw.test.example.test/approvals/x",
        "http://192.168.7.7:7777/approvals/x",
        "http://[::1:7777/",
        "http://localhost:x/approvals/",
        "/approvals/abc",
        "",
    ],
)
def test_what_leads_elsewhere_is_let_be(url: str, settings: Settings) -> None:
    assert not ours_of(settings, "approvals")(url)


def test_who_listens_everywhere_has_every_address_of_its_network(tmp_path: Path) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(
        '[gateway]\nhost = "0.0.0.0"\nport = 7777\nallowed_hosts = ["[fd00::7]:7777"]\n'
    )
    ours = ours_of(load(file), "approvals")
    for host in ("192.168.7.7", "10.1", "[fe80::1]", "[fd00::8]", socket.gethostname()):
        assert ours(f"http://{host}:7777/")
        assert ours(f"http://{host}/approvals/x")
        assert not ours(f"http://{host}:3000/")
    assert not ours("http://93.184.216.34:7777/")
    assert ours("https://[fd00:0::7]/approvals/x")


def test_where_urls_lead_is_judged_by_the_settings_of_now(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "other.toml").write_text("[gateway]\nport = 7778\n")
    urls = OwnUrls(load(tmp_path / "other.toml"), "/approvals/")
    assert not urls.leads_here("http://localhost:7777/")
    urls.adopt(settings)
    assert urls.leads_here("http://localhost:7777/")
