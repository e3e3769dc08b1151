"""The feature: what it adds to a configuration and answers, and what it does in the background."""

from __future__ import annotations

from pathlib import Path

from gatewright.call_policy import CLOSED
from gatewright.feature import Counts, Inside, Rights
from gatewright.kernel import Kernel
from gatewright.registration.feature import RegistrationFeature
from gatewright.registration.store import Kept, KeptServers
from gatewright.servers.administration import Administration
from gatewright.servers.supervisor import Supervisor
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
        again=_again,
        administration=Administration(servers, never, lambda *_: None, set()),
    )
    assert set(feature.methods(inside)) == {"mgp/discovery/register", "mgp/discovery/deregister"}
    assert feature._registration is not None
    await feature._registration.restore()
    assert [one.id for one in feature.extend(said).servers] == ["dynamic.x"]
    feature.adopt(feature.extend(said))
    assert [one.id for one in feature.extend(said).servers] == ["dynamic.x"]
    await feature.close()
