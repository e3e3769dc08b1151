"""The gate `validators`: named checks run before anything is forwarded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Refusal, verdict_of
from gatewright.validators.gate import Validators
from tests.gate_parts import Mute, a_call, a_tool, a_tool_call


@pytest.mark.parametrize("text", ["echo $(id)", "ls | id", "rm -rf x"])
async def test_the_sandbox_blocks_what_a_shell_could_read(text: str) -> None:
    """MGP-4.5-1 and MGP-14.3-5: a substitution, a pipe, a recursive delete."""
    call = a_tool_call(a_tool(validator="sandbox"), arguments={"command": text})
    found = await verdict_of(Validators(), call, Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "validation_blocked"
    assert found.details["validator"] == "sandbox"
    assert call.facts == {"validator_applied": "sandbox"}


async def test_what_the_sandbox_accepts_is_handed_on_and_noted() -> None:
    call = a_tool_call(a_tool(validator="sandbox"), arguments={"command": "ls -l"})
    assert await verdict_of(Validators(), call, Mute()) is call
    assert call.facts == {"validator_applied": "sandbox"}


async def test_the_validator_none_applies_nothing() -> None:
    """MGP-4.5-5"""
    call = a_tool_call(a_tool(validator="none"), arguments={"command": "echo $(id)"})
    assert await verdict_of(Validators(), call, Mute()) is call
    assert call.facts == {}


@pytest.mark.parametrize("validator", ["strong", "unreadable", "", "sandbox+strong"])
async def test_a_validator_that_nobody_has_refuses_the_call(validator: str) -> None:
    """MGP-4.3-4"""
    call = a_tool_call(a_tool(validator=validator), arguments={"command": "ls"})
    found = await verdict_of(Validators(), call, Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "policy_violation"
    assert "is not available" in found.message
    assert {"none", "sandbox", "readonly"} <= set(found.details["available"])


async def test_options_that_cannot_be_used_refuse_the_call() -> None:
    tool = a_tool(validator="paths", validator_options={"paths": {"rot": "/x"}})
    found = await verdict_of(Validators(), a_tool_call(tool, arguments={}), Mute())
    assert isinstance(found, Refusal)
    assert "the options of the validator paths cannot be used" in found.message


@pytest.mark.parametrize(
    ("validator", "arguments", "path"),
    [
        ("readonly", {"sql": "DROP TABLE t"}, "/sql"),
        ("network_restricted", {"url": "http://169.254.169.254/"}, "/url"),
        ("paths", {"files": ["a", "../b"]}, "/files/1"),
        ("none+paths+sandbox", {"x": "ls; id"}, "/x"),
    ],
)
async def test_each_standard_validator_blocks_with_the_place_and_the_rule(
    validator: str, arguments: dict[str, Any], path: str
) -> None:
    """MGP-4.5-2, MGP-4.5-3 and MGP-14.3-5"""
    call = a_tool_call(a_tool(validator=validator), arguments=arguments)
    found = await verdict_of(Validators(), call, Mute())
    assert isinstance(found, Refusal)
    assert (found.reason, found.details["path"]) == ("validation_blocked", path)
    assert found.details["validator"] in validator.split("+")
    assert found.details["rule"]
    assert f"(argument {path})" in found.message


async def test_rejected_code_has_a_code_of_its_own_and_the_body_of_the_specification() -> None:
    """MGP-4.5-4, MGP-7.4-1 and MGP-14.3-6"""
    tool = a_tool(validator="code_safety", validator_options={"code_safety": {"level": "strict"}})
    found = await verdict_of(
        Validators(), a_tool_call(tool, arguments={"code": "import socket"}), Mute()
    )
    assert isinstance(found, Refusal)
    assert found.reason == "code_safety"
    assert found.details["status"] == "rejected"
    assert found.details["violations"] == ["Blocked import: 'socket'"]
    assert set(found.details["hints"]) >= {
        "blocked_imports",
        "allowed_imports",
        "max_code_size_bytes",
    }


async def test_only_the_declared_arguments_are_judged() -> None:
    tool = a_tool(validator="sandbox", validator_args={"sandbox": ("/run",)})
    gate = Validators()
    passing = a_tool_call(tool, arguments={"run": "ls", "note": "a; b"})
    assert await verdict_of(gate, passing, Mute()) is passing
    assert isinstance(
        await verdict_of(gate, a_tool_call(tool, arguments={"run": "a; b"}), Mute()), Refusal
    )


async def test_names_are_looked_up_and_judged_by_their_addresses() -> None:
    """MGP-4.5-3: a name that resolves to an internal address."""
    asked: list[str] = []

    async def look_up(host: str) -> list[str]:
        asked.append(host)
        return {"out.example": ["9.9.9.9"], "in.example": ["9.9.9.9", "10.0.0.1"]}.get(host, [])

    gate = Validators(look_up)
    tool = a_tool(validator="network_restricted")
    out = a_tool_call(tool, arguments={"url": "https://out.example/"})
    assert await verdict_of(gate, out, Mute()) is out
    found = [
        await verdict_of(gate, a_tool_call(tool, arguments={"url": f"https://{host}/"}), Mute())
        for host in ("in.example", "lost.example", "localhost")
    ]
    assert [one.details["rule"] for one in found if isinstance(one, Refusal)] == [
        "internal_address",
        "unresolved",
        "internal_name",
    ]
    assert asked == ["out.example", "in.example", "lost.example"]


async def test_checks_are_made_anew_when_the_definition_changes() -> None:
    gate = Validators()
    strict = a_tool(validator="sandbox", validator_options={"sandbox": {"mode": "strict"}})
    loose = a_tool(validator="sandbox")
    arguments = {"command": "ls 'a b'"}
    verdicts = [
        isinstance(await verdict_of(gate, a_tool_call(tool, arguments=arguments), Mute()), Refusal)
        for tool in (strict, loose, strict, loose)
    ]
    assert verdicts == [True, False, True, False]


@pytest.mark.parametrize("kind", ["list", "prompt", "resource", "method"])
async def test_what_is_no_tool_has_no_validator(kind: str) -> None:
    call = a_call(kind, arguments={"x": "$(id)"})  # type: ignore[arg-type]
    assert await verdict_of(Validators(), call, Mute()) is call


async def test_names_without_end_are_not_looked_up() -> None:
    """MGP-4.5-3: one call keeps nobody else waiting for a resolver."""
    asked: list[str] = []

    async def look_up(host: str) -> list[str]:
        asked.append(host)
        return ["1.1.1.1"]

    gate, tool = Validators(look_up), a_tool(validator="network_restricted")

    async def found(*names: str) -> Any:
        urls = [f"https://{name}.example.org/{number}" for number, name in enumerate(names)]
        return await verdict_of(gate, a_tool_call(tool, arguments={"urls": urls}), Mute())

    many = await found(*(f"n{number}" for number in range(1000)))
    assert isinstance(many, Refusal)
    assert many.details["rule"] == "too_many_names"
    assert isinstance(await found(*(f"n{number}" for number in range(17))), Refusal)
    assert asked == []
    assert not isinstance(await found(*(f"n{number % 16}" for number in range(1000))), Refusal)
    assert asked == [f"n{number}.example.org" for number in range(16)]


async def test_a_resolver_that_does_not_answer_has_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MGP-4.5-3"""

    async def never(host: str) -> list[str]:
        await asyncio.get_running_loop().create_future()
        return ["1.1.1.1"]

    monkeypatch.setattr("gatewright.validators.gate._LOOK_UP_S", 0.05)
    tool = a_tool(validator="network_restricted")
    arguments = {"urls": ["https://a.example.org/", "https://b.example.org/"]}
    async with asyncio.timeout(20):
        found = await verdict_of(Validators(never), a_tool_call(tool, arguments=arguments), Mute())
    assert isinstance(found, Refusal)
    assert found.details["rule"] == "unresolved"


async def test_as_many_names_as_are_looked_up_for_one_call_are_enough_for_an_honest_one() -> None:
    """MGP-4.5-3"""

    async def look_up(host: str) -> list[str]:
        return ["1.1.1.1"] if host != "n15.example.org" else ["10.0.0.1"]

    gate, tool = Validators(look_up), a_tool(validator="network_restricted")
    urls = [f"https://n{number}.example.org/" for number in range(16)]
    found = await verdict_of(gate, a_tool_call(tool, arguments={"urls": urls}), Mute())
    assert isinstance(found, Refusal)
    assert (found.details["rule"], found.details["path"]) == ("internal_address", "/urls/15")
