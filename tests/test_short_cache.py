from __future__ import annotations

import gc
import weakref

import pytest
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import Grants
from gatewright.audit.call_records import told_of
from gatewright.call import Target, UserContext
from gatewright.config.reserved_server_ids import taken_for
from gatewright.mcp.server.locality import is_passed_on
from gatewright.schemas.lookalikes import keys
from gatewright.short_cache import ALL_LONGEST, LONGEST, cached_if_all_short, cached_if_short
from gatewright.validators.shell_files import is_sensitive
from gatewright.web.ip_addresses import is_public
from tests.gate_parts import AGENT, Mute, a_tool, a_tool_call


class Text(str):
    """One of which it can be told whether anybody keeps it."""

    __slots__ = ("__weakref__",)


class Octets(bytes):
    """The same of bytes."""


def test_short_texts_are_answered_once_and_long_ones_each_time() -> None:
    asked: list[tuple[str, bool]] = []

    @cached_if_short(2)
    def length(text: str, *, twice: bool = False) -> int:
        asked.append((text, twice))
        return len(text) * (2 if twice else 1)

    short, long = "a" * LONGEST, "b" * (LONGEST + 1)
    assert [length(one) for one in (short, short, long, long)] == [256, 256, 257, 257]
    assert length(short, twice=True) == 512
    assert asked == [(short, False), (long, False), (long, False), (short, True)]


def test_nothing_is_the_shortest_text() -> None:
    asked: list[bytes | None] = []

    @cached_if_short(2)
    def known(text: bytes | None) -> bool:
        asked.append(text)
        return text is not None

    assert [known(None), known(None), known(b""), known(b"")] == [False, False, True, True]
    assert asked == [None, b""]


def test_what_a_function_raises_is_not_kept() -> None:
    @cached_if_short(2)
    def refused(text: str) -> str:
        raise ValueError(text)

    for text in ("a", "a", "b" * 1000):
        with pytest.raises(ValueError, match=text):
            refused(text)


@pytest.mark.parametrize("judge", [is_public, is_sensitive, keys, taken_for])
def test_what_strangers_write_at_length_is_not_kept(judge: object) -> None:
    assert callable(judge)
    text = Text("x" * (LONGEST + 1))
    seen = weakref.ref(text)
    judge(text)
    del text
    gc.collect()
    assert seen() is None


def test_hosts_at_length_are_not_kept() -> None:
    host = Octets(b"x" * (LONGEST + 1))
    before = _live(Octets)
    assert is_passed_on({b"host": host})
    del host
    assert _live(Octets) == before - 1


def test_several_texts_are_kept_by_their_length_together() -> None:
    asked: list[tuple[int, str, str | None]] = []

    @cached_if_all_short(2)
    def joined(known: int, text: str, more: str | None) -> str:
        asked.append((known, text, more))
        return text + (more or "")

    half = "x" * (ALL_LONGEST // 2)
    for _ in range(2):
        joined(1, half, half)
        joined(1, half, None)
        assert len(joined(1, half, f"{half}x")) == ALL_LONGEST + 1
    assert len(asked) == 4


def test_what_tokens_and_calls_say_at_length_is_not_kept() -> None:
    scope, name = Text("x" * (ALL_LONGEST + 1)), Text("y" * (ALL_LONGEST + 1))
    seen = weakref.ref(scope), weakref.ref(name)
    caller = replace(AGENT, user=(UserContext(scopes=(scope,), resources=("/srv/**",)),))
    tool = replace(a_tool(), target=Target("srv", name))
    call = a_tool_call(tool, caller=caller, facts={})
    access = Access(Grants([], {"srv": "opt-out"}), lambda: 0.0)
    assert access(call, Mute()) is call
    assert access.may_touch(caller, Target("srv", "/srv/x"))
    assert told_of(call) is not None
    del scope, name, caller, tool, call
    gc.collect()
    assert [one() for one in seen] == [None, None]
    assert access.version()


def _live(kind: type) -> int:
    gc.collect()
    return sum(type(one) is kind for one in gc.get_objects())
