"""What holds now, from before there is anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.call import ANONYMOUS, Caller, Refusal
from gatewright.identity.gate import Authenticate
from gatewright.identity.issuers import Known
from gatewright.in_force import InForce
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.server_set import ServerSet
from tests.feature_parts import settings


class NoKeys:
    def verify(self, credential: str) -> str:
        return "unknown"


def test_before_there_is_a_gate_nobody_is_let_in(tmp_path: Path) -> None:
    now = InForce(settings(tmp_path))
    found = now.identify("http", None)
    assert isinstance(found, Refusal)
    assert found.reason == "server_not_ready"
    assert now.completed(Caller("ann")) == Caller("ann")
    assert (now.tokens(), now.protected) == (None, None)
    with pytest.raises(RuntimeError):
        now.authenticate.completed(ANONYMOUS)


def test_everything_is_replaced_at_once(tmp_path: Path) -> None:
    now, other = InForce(settings(tmp_path)), settings(tmp_path, '[gateway]\nname = "x"\n')
    gate, servers = Authenticate(NoKeys(), anonymous=True), ServerSet({}, {}, {}, Catalogue([]))
    now.take(other, {"authenticate": gate}, servers, Known())
    assert now.identify("http", None) == ANONYMOUS
    assert (now.settings, now.catalogue()) == (other, servers.catalogue)
    assert now.gate("authenticate", NoKeys) is None
