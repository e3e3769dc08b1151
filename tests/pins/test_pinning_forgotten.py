"""`server pin --forget` while the gateway runs: names of what is away are free, those of what is there stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import load
from gatewright.pins.pinning import Pinning
from gatewright.pins.store import Pins
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.spec import ServerSpec
from tests.pins.test_pinning import Trail
from tests.servers.test_server_catalogue import listing, tool
from tests.storage.parts import look, state_in


@pytest.mark.parametrize("pin", ["first-use", "off"])
def test_what_is_forgotten_is_free_and_what_is_listed_is_kept_again(
    tmp_path: Path, pin: str
) -> None:
    on, off = "enabled = true", "enabled = false"
    path, listed = tmp_path / "mgp.toml", listing(tools=[tool("t")])
    pinning = Pinning(Pins(state_in(tmp_path), clock=lambda: 1.0), Trail())

    def adopt(gone: str) -> None:
        each = f'command = "true"\npin = "{pin}"\n'
        text = f'[[servers]]\nid = "here"\n{each}[[servers]]\nid = "gone"\n{gone}\n{each}'
        path.write_text(text)
        pinning.adopt(load(path, environ={"HOME": str(tmp_path)}))

    adopt(on)
    here = [ServerSpec(id="here"), ServerSpec(id="gone")]
    first = Catalogue(here, reserved=pinning.reserved())
    for server in ("here", "gone"):
        first.put(server, listed)
        pinning.shelved(server, first.shelf(server).tools)
    adopt(off)
    specs = [ServerSpec(id="here"), ServerSpec(id="gone", enabled=False)]
    catalogue = first.renewed(specs, None, first.sight, {})
    catalogue.reserved.put("gatewright", ["own"])
    pinning.look(lambda: catalogue)
    assert catalogue.user_of("t", "here") == "gone"
    version = catalogue.version
    operator = Pins(state_in(tmp_path), clock=lambda: 2.0)
    for server in ("here", "gone"):
        operator.forget(server, by="olga")
    look(pinning.store)
    assert pinning.look(lambda: catalogue)
    assert catalogue.user_of("t", "here") == ""
    assert catalogue.user_of("t", "gone") == "here"
    assert catalogue.version > version
    assert operator.names() == {"here": ["t"]}
    operator.close()
    pinning.close()
