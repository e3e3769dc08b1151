"""What is shown of a normal form never has a value in it."""

from gatewright.hosts.model import Auth, CannotRead, Refused, Server


def test_a_repr_has_no_value_that_could_be_a_secret() -> None:
    server = Server(
        id="a",
        transport="http",
        url="https://a.example/?key=hunter2",
        env={"A": "hunter2"},
        headers={"B": "hunter2"},
        auth=Auth(bearer="hunter2", client_secret="hunter2"),
    )
    assert repr(server) == "Server(id='a', transport='http')"
    assert "hunter2" not in repr(server.auth)


def test_errors_say_what_is_wrong_and_what_to_do() -> None:
    problem = CannotRead("syntax", "this is not JSON", "correct it")
    assert (str(problem), problem.kind) == ("this is not JSON; correct it", "syntax")
    assert str(Refused("no command", "write one")) == "no command; write one"
