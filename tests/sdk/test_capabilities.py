from __future__ import annotations

from gatewright.sdk.capabilities import server_capabilities


def test_the_object_has_the_members_of_the_contract() -> None:
    """CDM-mod-10"""
    assert server_capabilities("codomyrmex-mcp", "1.0.5", tools=3, resources=2, prompts=1) == {
        "name": "codomyrmex-mcp",
        "version": "1.0.5",
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"subscribe": False, "listChanged": True},
            "prompts": {"listChanged": True},
        },
        "tools_count": 3,
        "resources_count": 2,
        "prompts_count": 1,
    }


def test_what_is_not_done_is_not_promised() -> None:
    """CDM-mod-11"""
    found = server_capabilities("s", "1", tools=0, announces=False, subscribes=True)
    assert found["capabilities"]["tools"] == {"listChanged": False}
    assert found["capabilities"]["resources"] == {"subscribe": True, "listChanged": False}
