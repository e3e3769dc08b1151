"""An operator's file of rules in the form of gitleaks' works through a gateway that runs, and a reload takes another one over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.access_house import OFFER
from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import DOORS, host

pytestmark = pytest.mark.timeout(180)

FILE = """
title = "rules of Example Corp"

[extend]
useDefault = true

[[allowlists]]
description = "what the handbook shows"
stopwords = ["handbook"]

[[rules]]
id = "corp-badge"
description = "badge of a visitor"
regex = '''\\bBDG-[A-Z2-7]{12}\\b'''
keywords = ["bdg-"]

[[rules]]
id = "corp-deploy-key"
regex = '''(?i)\\bdeploy[_-]?slot["']?\\s{0,3}[:=]\\s{0,3}["']?([a-z0-9]{24})\\b'''
keywords = ["deploy"]
entropy = 3.0

[[rules]]
id = "corp-node-ticket"
regex = '''(node|edge)-ticket/([0-9a-f]{20})'''
secretGroup = 2
keywords = ["node-ticket", "edge-ticket"]

[[rules]]
id = "corp-lab-sample"
regex = '''LAB[0-9]{2}\\.[A-Za-z0-9]{10}'''
keywords = ["lab"]

[[rules]]
id = "corp-pager"
regex = '''pgr1[a-z0-9]{14}'''
[rules.allowlist]
regexes = ['''^pgr1test''']

[[rules]]
id = "corp-printer"
regex = '''prn_([A-Z]{6}-[0-9]{6})'''
keywords = ["prn_"]
[[rules.allowlists]]
regexTarget = "line"
regexes = ['''# documented''']

[[rules]]
id = "corp-locker"
regex = '''(?i)locker\\W{1,3}(\\d{8})\\b'''
keywords = ["locker"]

[[rules]]
id = "corp-ship"
regex = '''shp:[A-Za-z0-9+/]{22}=='''
keywords = ["shp:"]

[[rules]]
id = "corp-wifi"
regex = '''wlan/guest/([a-z-]{8,63}[0-9])/'''
keywords = ["wlan/"]

[[rules]]
id = "corp-car"
regex = '''\\bcar-(?:[0-9A-F]{4}-){3}[0-9A-F]{4}\\b'''
keywords = ["car-"]

[[rules]]
id = "corp-seed"
regex = '''seed<<(?:[a-z]{3,8} ){5}[a-z]{3,8}>>'''
keywords = ["seed<<"]
tags = ["words"]

[[rules]]
id = "corp-alarm"
regex = '''alarm\\.code\\(([0-9]{6})\\)'''
keywords = ["alarm.code"]
path = '''\\.js$'''
"""
FOUND = {
    "corp-badge": ("visitor BDG-ABCDEFGH2345 came", "BDG-ABCDEFGH2345"),
    "corp-deploy-key": ("deploy_slot = 'k3j9x0q8w7e6r5t4y3u2i1o0'", "k3j9x0q8w7e6r5t4y3u2i1o0"),
    "corp-node-ticket": ("at edge-ticket/0123456789abcdef0123", "0123456789abcdef0123"),
    "corp-lab-sample": ("sample LAB07.aB3dE5gH7j", "LAB07.aB3dE5gH7j"),
    "corp-pager": ("call pgr1a8b7c6d5e4f3g2", "pgr1a8b7c6d5e4f3g2"),
    "corp-printer": ("prn_QWERTZ-123456", "QWERTZ-123456"),
    "corp-locker": ("Locker: 55501234", "55501234"),
    "corp-ship": ("shp:QUJDREVGR0hJSktMTU5PUA==", "shp:QUJDREVGR0hJSktMTU5PUA=="),
    "corp-wifi": ("wlan/guest/sunny-side-9/", "sunny-side-9"),
    "corp-car": ("car-0A1B-2C3D-4E5F-6071", "car-0A1B-2C3D-4E5F-6071"),
    "corp-seed": ("seed<<apple river stone cloud tiger lamp>>", "tiger"),
    "corp-alarm": ("alarm.code(482913)", "482913"),
}
KEPT = (
    "BDG-short",
    "deploy_slot = 'aaaaaaaaaaaaaaaaaaaaaaaa'",
    "pgr1testa8b7c6d5e4",
    "prn_QWERTZ-123456 # documented",
    "LAB07.handbook12",
    "locker room 12",
)


@pytest.mark.parametrize("door", DOORS)
async def test_a_file_of_a_dozen_rules_works(tmp_path: Path, door: str) -> None:
    (tmp_path / "corp.toml").write_text(FILE)
    content = config(server("echo"), redaction={"rules": [str(tmp_path / "corp.toml")]})
    with running(tmp_path, content) as gateway:
        async with host(gateway, door, can=OFFER) as client:
            for rule, (text, secret) in FOUND.items():
                said = await client.text("echo__echo", message=text)
                assert secret not in said
                assert f"[REDACTED:{rule}:" in said
            for text in KEPT:
                assert await client.text("echo__echo", message=text) == text
            long = "All is well. " * 10_000 + FOUND["corp-badge"][0]
            assert FOUND["corp-badge"][1] not in await client.text("echo__echo", message=long)


async def test_a_reload_takes_other_rules_and_refuses_broken_ones(tmp_path: Path) -> None:
    rules = tmp_path / "corp.toml"
    rules.write_text(FILE)
    content = config(server("echo"), redaction={"rules": ["corp.toml"]})
    text, secret = FOUND["corp-badge"]
    with running(tmp_path, content) as gateway:
        async with host(gateway, "http 2025-11-25", can=OFFER) as client:
            assert secret not in await client.text("echo__echo", message=text)
            rules.write_text(FILE.replace("BDG-", "(?!B)DG-"))
            line = gateway.reload(content)
            assert "rule corp-badge" in line
            assert secret not in await client.text("echo__echo", message=text)
            rules.write_text(FILE.replace("BDG-", "ZZZ-").replace("bdg-", "zzz-"))
            gateway.reload(content)
            assert await client.text("echo__echo", message=text) == text
