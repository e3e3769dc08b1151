"""Normal form to a table of mgp.toml."""

from typing import Any

from gatewright.hosts.model import Auth, Isolation, Server, Source, Timeouts, Tools
from gatewright.hosts.tables import connection, table_of, unsaid


def _http(**more: Any) -> Server:
    return Server(id="a", transport="http", url="https://h", **more)


def test_only_what_was_said_is_written() -> None:
    assert table_of(_http()) == {"id": "a", "url": "https://h"}
    server = Server(id="a", transport="stdio", command="x", cwd="/w", env={"A": ""})
    assert table_of(server, "/w") == {"id": "a", "command": "x", "env": {"A": ""}}
    assert table_of(server, "/v")["cwd"] == "/w"


def test_everything_that_the_file_can_say_is_said() -> None:
    server = Server(
        id="a",
        transport="sse",
        url="https://h",
        headers={"A": "b"},
        auth=Auth(client_id="c", client_secret="${S}", scopes=("r",)),
        timeouts=Timeouts(connect_s=2.0, call_s=1.5),
        enabled=False,
        tools=Tools(include=("in",), exclude=("out",)),
        era="legacy",
        mgp={"extensions": []},
        native={"share": "session", "issuer": "https://i", "tools": {"x": {"enabled": False}}},
    )
    assert table_of(server) == {
        "id": "a",
        "transport": "sse",
        "url": "https://h",
        "era": "legacy",
        "enabled": False,
        "connect_timeout_s": 2,
        "call_timeout_s": 1.5,
        "share": "session",
        "headers": {"A": "b"},
        "auth": {
            "client_id": "c",
            "issuer": "https://i",
            "client_secret": "${S}",
            "scopes": ["r"],
        },
        "mgp": {"extensions": []},
        "tools": {
            "*": {"enabled": False},
            "in": {"enabled": True},
            "out": {"enabled": False},
            "x": {"enabled": False},
        },
    }


def test_a_request_carries_one_authorization() -> None:
    assert table_of(_http(auth=Auth(bearer="${B}", scopes=("r",))))["auth"] == {"bearer": "${B}"}
    both = _http(auth=Auth(bearer="${B}"), headers={"authorization": "x"})
    assert "auth" not in table_of(both)
    assert "auth" not in table_of(_http(auth=Auth(client_id="c")))


def test_what_decides_whom_a_server_is_reached_as_is_compared() -> None:
    table = {"id": "a", "command": "x", "args": [], "call_timeout_s": 3, "enabled": False}
    assert connection(table, "/f") == {"command": "x", "cwd": "/f"}


def test_what_the_file_cannot_say_is_told() -> None:
    server = _http(
        env_file="/x",
        auth=Auth(client_id="c"),
        isolation=Isolation(network="none"),
        source=Source(key="servers.a"),
    )
    assert [(one.server, one.key) for one in unsaid(server)] == [
        ("a", "servers.a.envFile"),
        ("a", "servers.a.oauth"),
        ("a", "servers.a.isolation"),
    ]
    assert list(unsaid(_http())) == []
