"""OAuth mix-up (RFC 9207, RFC 9700 §4.4): a hostile authorization server never gets what another one gave.

Two real authorization servers and a browser that follows every redirect. The hostile one knows all that is public of the honest
one: its endpoints, our client id there, our redirect URIs. The cases are combinations of what it can publish, answer and
redirect to; whatever they are, nothing that the honest server minted, or that was made for it, is in what the hostile one hears.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import aiohttp
import pytest
from aiohttp import web

from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.oauth.client import Identity, configured_client, redirect_uri_at, redirect_uri_for
from gatewright.oauth.documents import AuthServer
from gatewright.servers.authorize import Browser, OAuth
from gatewright.servers.login_store import Logins
from tests.servers.guarded import BACK, AuthorizationServer, ProtectedServer, request, serving

DOCUMENT = "https://me.example/client.json"
CASES_IN_CI = 150


class Case(NamedTuple):
    """What the hostile server does, and how we are known to the honest one."""

    promised: bool
    """The hostile metadata promises `iss`."""
    iss: str
    """What it puts into its own responses: `missing`, `own`, `honest` or `odd`."""
    authorize: str
    """`own`; `names`: the honest endpoint stands in its metadata; `sends` and `forges`: its page sends the browser there, with
    the redirect URI of this login or that of the honest server."""
    registers: str
    """Whose registration endpoint stands in its metadata, and `steals`: its own gives our client id at the honest server."""
    token: str
    """Whose token endpoint stands in its metadata."""
    state: str
    """`kept`, or `other`: that of the login at the honest server."""
    honest_iss: bool
    identity: str


CASES = [
    Case(*one)
    for one in itertools.product(
        (False, True),
        ("missing", "own", "honest", "odd"),
        ("own", "names", "sends", "forges"),
        ("own", "honest", "steals"),
        ("own", "honest"),
        ("kept", "other"),
        (False, True),
        ("registered", "secret", "fixed", "own-uri", "document"),
    )
]
NAMED = [
    # One redirect URI for all: the hostile page sends the browser on, and the code comes back to us.
    Case(False, "missing", "sends", "steals", "own", "kept", False, "registered"),
    # We are registered by the honest server, and the code goes to the hostile one.
    Case(False, "missing", "names", "honest", "own", "kept", False, "registered"),
    Case(False, "missing", "sends", "steals", "own", "kept", False, "fixed"),
    Case(False, "missing", "forges", "steals", "own", "kept", False, "document"),
    # The document is ours at both, and lists what each login with it asks for.
    *(
        Case(promised, iss, "sends", "own", "own", "kept", False, "document")
        for promised in (False, True)
        for iss in ("missing", "own")
    ),
]


class Honest(AuthorizationServer):
    """Sends browsers only to redirect URIs that are registered for the client; remembers what it minted."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, set[str]] = {}
        self.minted: set[str] = set()
        self.challenges: set[str] = set()

    async def _register(self, request: web.Request) -> web.Response:
        body = await request.json()
        answer = await super()._register(request)
        self.places[list(self.clients)[-1]] = set(body["redirect_uris"])
        return answer

    async def _authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        if asked.get("redirect_uri") not in self.places.get(asked.get("client_id", ""), set()):
            return web.Response(status=400, text="this redirect URI is not registered")
        answer = await super()._authorize(request)
        self.challenges.add(asked["code_challenge"])
        self.minted.add(parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0])
        return answer

    def _give(self, client: str, scope: str) -> web.Response:
        answer = super()._give(client, scope)
        self.minted |= {*self.tokens, *self.refreshers}
        return answer


class Hostile(AuthorizationServer):
    """Keeps everything that it hears."""

    def __init__(self, honest: Honest) -> None:
        super().__init__()
        self.honest = honest
        self.case = CASES[0]
        self.state = ""
        self.everything = ""

    def app(self) -> web.Application:
        @web.middleware
        async def hear(request: web.Request, handler: Any) -> web.StreamResponse:
            said = [request.path_qs, *map(str, request.headers.items()), await request.text()]
            self.everything += "\n".join([*said, str(parse_qsl(said[-1])), ""])
            found: web.StreamResponse = await handler(request)
            return found

        app = super().app()
        app.middlewares.append(hear)
        return app

    def be(self, case: Case, state: str) -> None:
        """Do what the case says."""
        self.case, self.state, honest = case, state, self.honest.issuer
        self.metadata = {
            "authorization_response_iss_parameter_supported": case.promised,
            "client_id_metadata_document_supported": case.identity == "document",
        }
        self.response = {
            "missing": {},
            "own": {"iss": self.issuer},
            "honest": {"iss": honest},
            "odd": {"iss": f"{self.issuer}/"},
        }[case.iss]
        if case.state == "other":
            self.response["state"] = state
        for key, whose in (
            ("authorization_endpoint", "honest" if case.authorize == "names" else ""),
            ("token_endpoint", case.token),
            ("registration_endpoint", case.registers),
        ):
            if whose == "honest":
                self.metadata[key] = f"{honest}/{key.split('_')[0].replace('ization', 'ize')}"
        if case.registers == "honest":
            self.metadata["registration_endpoint"] = f"{honest}/register"

    async def _register(self, request: web.Request) -> web.Response:
        answer = await super()._register(request)
        if self.case.registers != "steals":
            return answer
        client = next(iter(self.honest.clients))
        self.clients[client] = ""
        return web.json_response({"client_id": client}, status=201)

    async def _authorize(self, request: web.Request) -> web.Response:
        if self.case.authorize not in ("sends", "forges"):
            return await super()._authorize(request)
        asked = dict(request.query)
        client = next(iter(self.honest.clients))
        if self.case.authorize == "forges":
            asked["redirect_uri"] = min(self.honest.places[client])
        if self.case.state == "other":
            asked["state"] = self.state
        there = f"{self.honest.issuer}/authorize?{urlencode({**asked, 'client_id': client})}"
        return web.Response(status=302, headers={"Location": there})


class House:
    """Both authorization servers and one server protected by each."""

    def __init__(self) -> None:
        self.honest = Honest()
        self.hostile = Hostile(self.honest)
        self.good, self.bad = ProtectedServer(self.honest), ProtectedServer(self.hostile)
        self.last = ""

    async def browse(self, url: str) -> str:
        """A person who agrees to everything, and a browser that goes where it is sent."""
        self.last = url
        async with aiohttp.ClientSession() as session, asyncio.timeout(10):
            while not url.startswith(BACK):
                async with session.get(url, allow_redirects=False) as answer:
                    if answer.status != 302:
                        raise NotAuthorized(await answer.text())
                    url = answer.headers["Location"]
        return url

    def known(self, case: Case) -> Identity:
        """How the honest server knows us, before anything is asked."""
        honest, issuer = self.honest, self.honest.issuer
        honest.__dict__.update({"clients": {}, "places": {}, "minted": set(), "challenges": set()})
        honest.response = {"iss": issuer} if case.honest_iss else {}
        honest.method = "client_secret_basic" if case.identity == "secret" else "none"
        documents = case.identity == "document"
        honest.metadata = {
            "client_id_metadata_document_supported": documents,
            "authorization_response_iss_parameter_supported": case.honest_iss,
        }
        place = BACK if case.identity == "fixed" else redirect_uri_at(BACK, issuer)
        if case.identity in ("fixed", "own-uri"):
            honest.clients["ours"], honest.places["ours"] = "", {place}
            fixed = BACK if case.identity == "fixed" else ""
            return Identity("ours", "", issuer, redirect_uri=fixed)
        if documents:
            honest.clients[DOCUMENT], honest.places[DOCUMENT] = "", self.listed()
            return Identity(metadata_url=DOCUMENT)
        return Identity()

    def listed(self) -> set[str]:
        """What our document lists: what a login with it asks for, at either of them."""
        ours = Identity(metadata_url=DOCUMENT)
        both = (
            AuthServer(one, f"{one}/authorize", f"{one}/token", documents=True, sends_issuer=True)
            for one in (self.honest.issuer, self.hostile.issuer)
        )
        return {redirect_uri_for(one, ours, configured_client(one, ours), BACK) for one in both}

    def secrets(self) -> set[str]:
        """What is nobody's business but the honest server's and ours."""
        return self.honest.minted | {one for one in self.honest.clients.values() if one}

    def verifiers(self) -> set[str]:
        """What the hostile server heard as a verifier of a challenge that the honest one was shown."""
        heard = [form.get("code_verifier", "") for _, form in self.hostile.heard]
        return {one for one in heard if one and _challenge(one) in self.honest.challenges}


def _challenge(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with AsyncExitStack() as stack:
        made = House()
        for one in (made.honest, made.hostile):
            one.issuer = await stack.enter_async_context(serving(one.app()))
        for server in (made.good, made.bad):
            server.url = await stack.enter_async_context(serving(server.app())) + "/mcp"
        yield made


async def attacked(house: House, case: Case, folder: Path, *, switched: bool) -> bool:
    """Log in at the honest server, then at the hostile one: that of another server, or of the same one, which names it now.
    Whether the hostile one gave a token."""
    identity = house.known(case)
    hostile = house.hostile
    hostile.heard.clear()
    hostile.everything, hostile.clients, hostile.tokens = "", {DOCUMENT: ""}, {}
    house.good.published = {}
    logins = Logins(folder)
    ours = Browser(house.browse, BACK)
    assert (
        await request(OAuth("good", house.good.url, identity, logins, browser=ours), house.good.url)
        == 200
    )
    hostile.be(case, parse_qs(urlsplit(house.last).query)["state"][0])
    target, name = (house.good, "good") if switched else (house.bad, "bad")
    house.good.published = {"authorization_servers": [hostile.issuer]} if switched else {}
    bad = identity if switched else Identity(metadata_url=identity.metadata_url)
    auth = OAuth(name, target.url, bad, logins, relogin=not switched, browser=ours)
    if switched:
        house.honest.tokens.clear()
    with suppress(NotAuthorized):  # what is asked here is who heard what
        await request(auth, target.url)
    leaked = {one for one in house.secrets() if one in hostile.everything}
    assert not leaked, (case, switched, leaked)
    assert not house.verifiers(), (case, switched)
    return bool(hostile.tokens)


def chosen(most: int) -> list[tuple[Case, bool]]:
    """The named cases, and others drawn from all."""
    drawn = random.Random(9207).sample(CASES, most)
    return [(case, switched) for case in (*NAMED, *drawn) for switched in (False, True)]


async def test_nothing_of_the_honest_issuer_reaches_the_hostile_one(
    house: House, tmp_path: Path
) -> None:
    logged_in = 0
    for number, (case, switched) in enumerate(chosen(CASES_IN_CI)):
        logged_in += await attacked(house, case, tmp_path / str(number), switched=switched)
    assert logged_in > 0  # the hostile one does serve those who come to it


async def test_two_logins_at_once_do_not_exchange_their_answers(
    house: House, tmp_path: Path
) -> None:
    """The browser brings each the answer of the other: neither code is sent anywhere."""
    case = CASES[0]._replace(identity="registered")
    house.known(case)
    house.hostile.be(case, "")
    answers: dict[str, asyncio.Future[str]] = {
        name: asyncio.get_running_loop().create_future() for name in ("good", "bad")
    }
    others = {"good": "bad", "bad": "good"}

    async def login(name: str, server: ProtectedServer) -> None:
        async def swapped(url: str) -> str:
            answers[name].set_result(await house.browse(url))
            return await answers[others[name]]

        auth = OAuth(name, server.url, Identity(), Logins(tmp_path), browser=Browser(swapped, BACK))
        with pytest.raises(NotAuthorized, match="redirect URI of this login"):
            await request(auth, server.url)

    await asyncio.gather(login("good", house.good), login("bad", house.bad))
    assert (house.honest.count("/token"), house.hostile.count("/token")) == (0, 0)


async def test_endpoints_are_those_of_the_metadata_that_the_login_began_with(
    house: House, tmp_path: Path
) -> None:
    """The issuer publishes other endpoints while a person is at its page: they are not asked."""
    house.known(CASES[0])

    async def changing(url: str) -> str:
        house.honest.metadata["token_endpoint"] = f"{house.hostile.issuer}/token"
        return await house.browse(url)

    auth = OAuth(
        "good", house.good.url, Identity(), Logins(tmp_path), browser=Browser(changing, BACK)
    )
    assert await request(auth, house.good.url) == 200
    assert house.hostile.everything == ""


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_token_endpoint_that_redirects_is_not_followed(
    house: House, tmp_path: Path, status: int
) -> None:
    house.known(CASES[0])

    async def redirecting(asked: web.Request) -> web.Response:
        await asked.read()
        return web.Response(status=status, headers={"Location": f"{house.hostile.issuer}/token"})

    app = web.Application()
    app.router.add_post("/token", redirecting)
    async with serving(app) as elsewhere:
        house.honest.metadata["token_endpoint"] = f"{elsewhere}/token"
        house.honest.metadata["authorization_response_iss_parameter_supported"] = True
        house.honest.response = {"iss": house.honest.issuer}
        auth = OAuth(
            "good",
            house.good.url,
            Identity(),
            Logins(tmp_path),
            browser=Browser(house.browse, BACK),
        )
        with pytest.raises(NotAuthorized, match=str(status)):
            await request(auth, house.good.url)
    assert house.hostile.everything == ""


async def test_a_client_that_the_hostile_issuer_registered_for_itself_is_told_by_iss(
    house: House, tmp_path: Path
) -> None:
    """Where the hostile issuer is a client of the honest one with the redirect URI of its own login, `iss` alone tells."""
    case = CASES[0]._replace(authorize="sends", registers="steals", honest_iss=True)
    house.known(case)
    house.hostile.be(case, "")
    house.honest.clients["theirs"] = ""
    house.honest.places["theirs"] = {redirect_uri_at(BACK, house.hostile.issuer)}
    auth = OAuth(
        "bad", house.bad.url, Identity(), Logins(tmp_path), browser=Browser(house.browse, BACK)
    )
    with pytest.raises(NotAuthorized, match="is of issuer"):
        await request(auth, house.bad.url)
    assert house.hostile.count("/token") == 0
