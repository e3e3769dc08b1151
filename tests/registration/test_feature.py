"""The feature: what it adds to a configuration and answers, and what it does in the background."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.call_policy import CLOSED
from gatewright.feature import Counts, Inside, Rights
from gatewright.kernel import Kernel
from gatewright.registration.feature import RegistrationFeature
from gatewright.registration.store import Kept, KeptServers
from gatewright.servers.administration import Administration
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.turns import GoingOn, Turns
from gatewright.transport.isolation.user_ids import user_id
from tests.feature_parts import ground, settings
from tests.kernel_parts import Book
from tests.registration.parts import registered


async def _again() -> None:
    """Goes on with the same configuration."""


async def never(_: object) -> None:
    """Nothing is started anew."""


async def test_it_answers_both_methods_and_adds_nothing_before_something_is_registered(
    tmp_path: Path,
) -> None:
    on = ground(tmp_path)
    KeptServers(on.database).put("dynamic.x", Kept("agent", "ann", registered()))
    feature = RegistrationFeature(on)
    said = settings(tmp_path)
    assert feature.extend(said) is said
    servers = Supervisor([], info={})
    inside = Inside(
        servers=servers,
        kernel=Kernel(*CLOSED, Book()),
        gates=(),
        rights=Rights(),
        counts=Counts(),
        going_on=GoingOn(again=_again, in_line=_again, pressing=Turns().pressing),
        administration=Administration(servers, never, lambda *_: None, set()),
    )
    assert set(feature.methods(inside)) == {"mgp/discovery/register", "mgp/discovery/deregister"}
    assert feature._registration is not None
    await feature._registration.restore()
    assert [one.id for one in feature.extend(said).servers] == ["dynamic.x"]
    feature.adopt(feature.extend(said))
    assert [one.id for one in feature.extend(said).servers] == ["dynamic.x"]
    await feature.close()


async def test_what_isolated_a_server_is_given_back_with_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not while there is a server of that id."""
    on = ground(tmp_path)
    monkeypatch.setattr(KeptServers.__init__, "__defaults__", (2, lambda _: None))
    feature = RegistrationFeature(on)
    state = on.settings.storage.path
    for name in ("dynamic.a", "dynamic.b", "dynamic.x"):
        user_id(state, name)
    feature._fleet.present["dynamic.a"] = registered(id="dynamic.a")
    for name in ("dynamic.a", "dynamic.b", "dynamic.c", "dynamic.d"):
        feature._fleet.kept.put(name, Kept("agent", "ann"))
    left = {str(one.readlink()) for one in (state / "isolated" / ".uids").iterdir()}
    assert left == {"dynamic.a", "dynamic.x"}
    await feature.close()
