"""What browsers are sent: vendored files are what the manifest says, and all of it is small."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from importlib.resources import files

from gatewright.console.static_files import StaticFiles

FOLDER = files("gatewright.console").joinpath("static")
MOST_BYTES = 80_000


def test_vendored_files_are_those_of_the_manifest() -> None:
    manifest = json.loads(FOLDER.joinpath("vendored.json").read_text())
    for one in manifest:
        assert sha256(FOLDER.joinpath(one["file"]).read_bytes()).hexdigest() == one["sha256"]
        assert one["version"]
        assert one["licence"] in ("0BSD", "MIT")
    own = {one.name for one in FOLDER.iterdir()} - {one["file"] for one in manifest}
    assert not [name for name in own if ".min." in name]


def test_scripts_and_styles_weigh_less_than_the_budget() -> None:
    sizes = [
        len(gzip.compress(one.read_bytes(), 9))
        for one in FOLDER.iterdir()
        if one.name.endswith((".js", ".css"))
    ]
    assert sum(sizes) <= MOST_BYTES


def test_an_address_changes_with_the_content() -> None:
    static = StaticFiles()
    found = static.get("console.css")
    assert found is not None
    assert static.url("console.css") == f"/static/console.css?v={found.digest}"
    assert static.get("../feature.py") is None
    assert static.get("vendored.json") is None
