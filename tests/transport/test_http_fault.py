from __future__ import annotations

from typing import get_args

import pytest

from gatewright.transport import http_client
from gatewright.transport.http_fault import Fault, FaultKind
from tests.transport.collecting import within
from tests.transport.http_peers import Reach, nothing


@pytest.mark.parametrize("kind", get_args(FaultKind))
@pytest.mark.parametrize("not_sent", [True, False, None])
async def test_every_fault_becomes_an_error_with_its_words_and_what_it_knows(
    reach: Reach, monkeypatch: pytest.MonkeyPatch, kind: FaultKind, not_sent: bool | None
) -> None:
    async def fail(*_: object) -> None:
        raise Fault(kind, "some words", not_sent=not_sent)

    upstream = reach("http://127.0.0.1:1/")
    monkeypatch.setattr(upstream._pool, "take", fail)
    with pytest.raises(http_client.UpstreamError, match=r"^some words$") as caught:
        await within(upstream.post(b"{}", {}, nothing))
    assert caught.value.not_sent is not_sent
    assert type(caught.value) is not http_client.UpstreamError
