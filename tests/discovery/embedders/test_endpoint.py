from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import numpy as np
import pytest

from gatewright.config.embedder import Embedder as Written
from gatewright.config.substitute import Undefined
from gatewright.discovery.embedders.embedder import EmbeddingFailed
from gatewright.discovery.embedders.endpoint import Endpoint as Asking
from tests.discovery.embedders.endpoints import endpoint


def written(url: str, **more: Any) -> Written:
    return Written(type="endpoint", url=url, model="small", **more)


async def test_texts_become_rows_of_length_one_in_their_order() -> None:
    async with endpoint() as served:
        asking = Asking(
            written(f"{served.url}/", query_prefix="q: ", tool_prefix="t: "), lambda: "k-1"
        )
        rows = await asking.embed(["a file", "the mail"], asked=False)
        assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1])
        assert rows[:, 1:3].argmax(axis=1).tolist() == [1, 0]
        await asking.embed(["a file"], asked=True)
        assert served.texts == ["t: a file", "t: the mail", "q: a file"]
        assert served.asked[0]["model"] == "small"
        assert served.keys == ["Bearer k-1"] * 2
        await Asking(written(served.url), str).embed(["x"], asked=True)
        assert served.keys[-1] is None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "no list of vectors"),
        (b'{"data": []}', "0 vectors for 2 texts"),
        (json.dumps({"data": [{"index": 0, "embedding": [1.0]}] * 2}).encode(), "vectors for 2"),
        (
            json.dumps(
                {"data": [{"index": n, "embedding": [1.0] * (n + 1)} for n in (0, 1)]}
            ).encode(),
            "different lengths",
        ),
        (
            json.dumps({"data": [{"index": n, "embedding": []} for n in (0, 1)]}).encode(),
            "2 by 0 numbers",
        ),
        (
            json.dumps({"data": [{"index": n, "embedding": [0.5] * 5000} for n in (0, 1)]}).encode(),
            "2 by 5000 numbers",
        ),
        (
            b'{"data": [{"index": 0, "embedding": [1e300]}, {"index": 1, "embedding": [1]}]}',
            "no numbers",
        ),
        (b" " * 600_000, "more than"),
        (b'{"data": [{"index": 0, "embedding": [' + b"1e1," * 50_000 + b"1]}]}", "lower batch"),
    ],
)  # fmt: skip
async def test_what_is_no_answer_fails_with_why(body: bytes, why: str) -> None:
    async with endpoint() as served:
        served.body = body
        asking = Asking(written(served.url, batch=2), str)
        with pytest.raises(EmbeddingFailed, match=why):
            await asking.embed(["a", "b"], asked=False)


async def test_a_refusal_and_a_silence_fail_too() -> None:
    async with endpoint() as served:
        served.status, served.body = 503, b"loading"
        asking = Asking(written(served.url, query_timeout_ms=50), str)
        with pytest.raises(EmbeddingFailed, match="HTTP 503: loading"):
            await asking.embed(["a"], asked=False)
        served.status, served.body, served.wait_s = 200, None, 0.5
        with pytest.raises(EmbeddingFailed, match=r"did not answer in 0\.05 s"):
            await asking.embed(["a"], asked=True)


async def test_another_model_is_another_identity() -> None:
    one, two = (Asking(Written(type="endpoint", url="http://x", model=m), str) for m in "ab")
    assert await one.identity() != await two.identity()
    assert (
        await one.identity()
        == await Asking(
            Written(type="endpoint", url="http://x", model="a", batch=7), str
        ).identity()
    )
    await one.close()


async def test_the_key_is_read_once_in_a_thread_and_again_where_it_was_not_there() -> None:
    """A keyring that asks its user holds nobody up."""
    read: list[int] = []

    def key() -> str:
        read.append(threading.get_ident())
        if len(read) == 1:
            raise Undefined("no such secret", "set it")
        return "k-2"

    async with endpoint() as served:
        asking = Asking(written(served.url), key)
        with pytest.raises(EmbeddingFailed, match="no such secret: set it"):
            await asking.embed(["a"], asked=True)
        await asyncio.gather(*(asking.embed(["a"], asked=True) for _ in range(3)))
        assert served.keys == ["Bearer k-2"] * 3
    assert len(read) == 2
    assert threading.get_ident() not in read
