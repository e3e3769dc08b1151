"""What has to arrive in the two-sided model: silence is a mistake of who is told what as well. Asked once everybody has come to rest."""

from __future__ import annotations

from collections.abc import Iterable

from gatewright.call import Target
from gatewright.servers.names import unwrap_uri
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import Asked, Question, visible
from tests.behaviour.two_sided_judge import Judge
from tests.behaviour.two_sided_listened import Stream
from tests.behaviour.two_sided_servers import End, Server, Work

__all__ = ["Musts"]


class Musts(Judge):
    """See the module's text."""

    servers: dict[str, Server]

    def works(self, server: str) -> list[tuple[End, Work]]:
        return self.servers[server].work()

    def every_work(self) -> list[tuple[End, Work]]:
        """The requests that servers have not answered."""
        return [one for server in self.servers.values() for one in server.work()]

    def listeners(self, server: str, kind: str) -> list[Client]:
        """The clients that hear when a list of a server has changed."""
        every = [one for one in self.clients.values() if one.listens_for(kind)]
        return [one for one in every if server in visible(one.name)]

    def every_given_up(self) -> list[tuple[End, Work]]:
        """The requests that nobody waits for, and that servers have not answered."""
        every = ((found, self.asked[found[1].mark]) for found in self.every_work())
        return [found for found, asked in every if asked.gone or asked.cut]

    def every_question(self) -> list[tuple[End, str]]:
        """The questions that servers have put."""
        return [(end, one) for end in self.every_end() for one in end.asked]

    def every_task(self) -> list[tuple[End, str]]:
        """The tasks that servers have."""
        return [(end, one) for end in self.every_end() for one in end.tasks]

    def every_idle(self) -> list[End]:
        """The connections on which something was answered, and nothing waits."""
        return [end for end in self.every_end() if end.past and not end.work]

    def every_end(self) -> list[End]:
        """All connections of servers."""
        return [end for server in self.servers.values() for end in server.ends]

    def must_stop(self, given_up: Iterable[Asked]) -> None:
        """A server is told to stop what its caller gave up."""
        marks = {one.mark for one in given_up}
        for end, one in self.every_work():
            if one.mark in marks and one.ident not in end.stopped:
                self.fault(f"{end.server.name} was not told that its caller gave up", one.mark)

    def must_be_answered(self, client: Client, question: Question) -> None:
        """What a client answers gets to the server that asks. One that has answered the call itself asks about nothing any more."""
        asked = self.asked.get(question.mark)
        if client.modern and (asked is None or asked.gone or self.late(asked)):
            return
        for end in self.every_end():
            for ident, put in end.asked.items():
                over = bool(put.mark) and put.mark in end.past
                if f"{end.server.name}.{ident}" in question.puts and not over:
                    self.fault(f"{end.server.name} did not get the answer to {ident}", question)

    def must_be_forgotten(self, put: str) -> None:
        """A client learns that it need not answer any more."""
        for client in self.clients.values():
            if not client.modern and any(put in one.puts for one in client.asked):
                self.fault(f"{client.name} was not told that {put} was taken back", put)

    def must_hear(self, who: str, what: str, before: int, about: str = "") -> None:
        """Somebody has heard once more of what is its own."""
        if self.told[about or who, what] <= before:
            self.fault(f"{who} did not hear of {what}", about)

    def streams(self, client: Client, name: str, what: str) -> dict[Stream, int]:
        """The requests to listen of a client to which something was granted, by the `name` of that in the answer, and how often each has heard
        of it."""
        open_ = {at: one for at, one in client.acks.items() if at in client.open}
        found = [
            Stream(client.name, client.times, at, what)
            for at, one in open_.items()
            if one.get(name) is True or what in one.get("resourceSubscriptions", ())
        ]
        return {one: self.heard_on[one] for one in found}

    def must_hear_on_each(self, before: dict[Stream, int]) -> None:
        """Each request to listen that is still open has heard once more."""
        for one, count in before.items():
            client = self.clients[one.who]
            stands = client.times == one.times and one.ident in client.open
            if stands and self.heard_on[one] <= count:
                self.fault(f"{one.who} did not hear of {one.what} on each of its streams", one)

    def must_reach(self, asked: Asked, server: str) -> None:
        """What is listed as a server's leads to it."""
        if self.servers[server].ends and asked.heard and not asked.got.get(server):
            self.fault(f"{asked.who} did not reach {server} by what is listed", asked.params)

    def must_be_of(self, client: Client, number: int, text: str) -> None:
        """Whoever asks about a task of its own hears of that one."""
        if f"task-of-{client.name}.{number}" not in text:
            self.fault(f"{client.name} did not hear of its task {number}", text)

    def holders(self, end: End, uri: str) -> list[tuple[Client, str]]:
        """The clients that wait on a connection for word of a server's resource, and what each calls it."""
        name, evil = end.server.name, self.servers["evil"]
        taken = {evil.foreign, *evil.formerly} - {""}
        found = []
        for client in self.clients.values():
            if self.serves(client, name) is not end:
                continue
            for own, server in client.waits_for:
                target = unwrap_uri(own)
                same = own == uri if target is None else target == Target(name, uri)
                if (
                    same
                    and server == name
                    and (target is not None or not any(one in uri for one in taken))
                ):
                    found.append((client, own))
        return found

    def serves(self, client: Client, server: str) -> End | None:
        """The connection of a server that serves a client, while it is there."""
        raise NotImplementedError

    def must_be_wanted(self) -> None:
        """A server knows of each resource of its that somebody waits for, on the connection that serves that one."""
        for client in self.clients.values():
            for own, server in client.waits_for:
                target = unwrap_uri(own)
                uri = own if target is None else target.name
                end = self.serves(client, server)
                if end is not None and uri not in end.wanted:
                    self.fault(f"{server} was not told that {client.name} waits for {uri}", own)
