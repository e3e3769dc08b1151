"""`Site`: ASGI application of the console: static files, sign-in, screens, `/api/v1`, `/events`; checks origin, session, role; renders pages.

A request for a page is answered with a whole page, or with the part of one that a script asked for; an error of a part is shown in the
page's notices. A browser that comes with its cookie alone gets a shell, whose script asks again with the page key. The same operations
serve the API and the forms of pages.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from jinja2 import Environment
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from gatewright import __version__
from gatewright.call import Unrecorded
from gatewright.console import api
from gatewright.console.changes import TOPICS
from gatewright.console.dependencies import Dependencies
from gatewright.console.guard import HEADERS, Guard
from gatewright.console.operations import ApiError, Asking, Download, Operation, read
from gatewright.console.people import Person
from gatewright.console.redirect_target import path_in
from gatewright.console.rendering import environment
from gatewright.console.screen import Badge, Page, Screen, View
from gatewright.console.sessions import ConsoleSession
from gatewright.console.shared_views import SharedViews
from gatewright.console.sign_in import KEY
from gatewright.console.sign_in_pages import SignInPages, form_of, key_in
from gatewright.console.sign_in_sessions import SignIns
from gatewright.console.static_files import StaticFiles
from gatewright.console.turns import Turns
from gatewright.storage.errors import StoreError

__all__ = ["Site"]

log = logging.getLogger("gatewright.console")

Answering = Callable[[Request], Awaitable[Response]]
_EVENTS = "/events"
_YEAR = "public, max-age=31536000, immutable"


class Site:
    """The console of one gateway, with these screens."""

    def __init__(
        self, parts: Dependencies, screens: Sequence[Screen], guard: Guard, base: str
    ) -> None:
        """`base` is the URL at which people reach it, without a path."""
        self._parts = parts
        self._screens = screens
        self._guard = guard
        self._signing = SignInPages(parts, guard, self._html)
        self._sign_in = self._signing.sign_in
        self._turns = Turns()
        self._static = StaticFiles()
        self._templates: Environment = environment(parts.clock, self._static.url)
        self._shared = SharedViews(parts.changes, parts.clock)
        self._framed: dict[str, bool] = {}
        """Which templates are whole pages, as far as they were asked for."""
        self._operations: list[Operation] = [
            *SignIns(parts, base).operations,
            *(operation for one in screens for operation in one.operations),
        ]
        self._described: bytes | None = None
        """The OpenAPI document, made when first asked for."""
        self.app = Starlette(
            routes=self._routes(), exception_handlers={HTTPException: self._not_here}
        )
        # It would answer before the guard has looked, with a URL made of whatever `Host` says.
        self.app.router.redirect_slashes = False

    def _routes(self) -> list[Route]:
        first = self._screens[0].name
        found = [
            self._route("/", self._to(f"/{first}"), "GET"),
            self._route("/static/{name}", self._file, "GET"),
            *(self._route(path, run, method) for path, run, method in self._signing.routes),
            self._route(_EVENTS, self._events, "GET", head=False),
            self._route("/screens", self._numbers, "GET", head=False),
            self._route(f"{api.ROOT}/openapi.json", self._document, "GET"),
        ]
        for screen in self._screens:
            found += [
                self._route(one.path, self._page(screen, one), one.method, head=False)
                for one in screen.pages
            ]
        for operation in self._operations:
            path = api.ROOT + operation.path
            run = self._operation(operation)
            found.append(self._route(path, run, operation.method, head=False))
        return found

    # -- what every request passes

    def _route(self, path: str, answer: Answering, method: str, *, head: bool = True) -> Route:
        async def guarded(request: Request) -> Response:
            try:
                self._guard.check(request)
                response = await answer(request)
            except ApiError as problem:
                response = self._problem(request, problem)
            except (StoreError, Unrecorded) as problem:
                response = self._problem(request, ApiError(503, "store", str(problem)))
            except Exception:
                log.exception("the console broke at %s", request.url.path)
                said = ApiError(
                    500, "internal", "internal error; the details are in the gateway's log"
                )
                response = self._problem(request, said)
            return _kept_apart(response)

        found = Route(path, guarded, methods=[method])
        if not head and found.methods is not None:
            found.methods.discard("HEAD")  # it would do all of the work, and send nothing
        return found

    async def _not_here(self, request: Request, problem: Exception) -> Response:
        """No route leads there, or none with this method."""
        status = problem.status_code if isinstance(problem, HTTPException) else 404
        missing = ApiError(status, "not_found", "nothing is here")
        if status == 405:
            missing = ApiError(status, "wrong_method", f"{request.method} is not served here")
        try:
            self._guard.check(request)
        except ApiError as foreign:
            missing = foreign
        return _kept_apart(self._problem(request, missing))

    def _problem(self, request: Request, problem: ApiError) -> Response:
        if request.url.path.startswith((api.ROOT, _EVENTS)):
            return api.problem(problem)
        if problem.status == 401:
            return self._to_sign_in(request, problem)
        title = "Not found" if problem.status == 404 else "Not done"
        values = {"problem": problem, "title": title}
        if "hx-request" in request.headers:
            found = self._html("notice.html", values, problem.status)
            found.headers["hx-retarget"] = "#notices"
            found.headers["hx-reswap"] = "innerHTML"
            return found
        return self._html("problem.html", values, problem.status)

    def _to_sign_in(self, request: Request, problem: ApiError) -> Response:
        way = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        if "hx-request" in request.headers:
            page = urlsplit(request.headers.get("hx-current-url", ""))
            way = page.path + (f"?{page.query}" if page.query else "")
            if problem.code == "confirm":  # the page asks the issuer, when nobody is writing in it
                return Response(
                    status_code=401, headers={"x-console": "confirm", "hx-reswap": "none"}
                )
            there = f"/sign-in?over=session&next={quote(way)}"
            if (
                problem.code == "page_key"
            ):  # the same browser has signed in anew: its shell has the key
                there = path_in(way)
            return Response(status_code=401, headers={"hx-redirect": there})
        if request.method != "GET":
            return RedirectResponse("/sign-in", 303)
        # Whoever follows a reference from another site comes without the cookie (`SameSite=Strict`); the shell asks with it.
        followed = request.headers.get("sec-fetch-site", "") == "cross-site"
        if KEY not in request.headers and (problem.code == "page_key" or followed):
            return self._signing.shell(request)
        if KEY in request.headers:  # the shell asks
            return Response(status_code=401, headers={"x-console": problem.code})
        return RedirectResponse(f"/sign-in?next={quote(way)}", 303)

    def _session(self, request: Request, shown: str = "") -> ConsoleSession:
        """The session, as it is now, of a request that brings the page key, in a header or `shown` elsewhere. Raises `ApiError`."""
        session = self._sign_in.session(request)
        self._sign_in.check_key(request, session, request.headers.get(KEY, "") or shown)
        return session

    # -- screens

    def _page(self, screen: Screen, page: Page) -> Answering:
        async def answer(request: Request) -> Response:
            shown, fields = "", dict(request.query_params)
            if page.method == "POST":
                self._sign_in.session(request)  # nobody else is listened to for long
                fields = await form_of(request)
                shown = key_in(request, fields)
            waits = self._session(request, shown).person
            async with self._turn(page, waits):
                # Once more: a form may come slowly, and a turn late, and a key or a role end meanwhile.
                return await made(request, self._session(request, shown), fields)

        async def made(
            request: Request, session: ConsoleSession, fields: dict[str, str]
        ) -> Response:
            person = session.person
            if not person.may(page.power):
                said = f"this takes the power to {page.power}, which the role {person.role} does not have"
                raise ApiError(403, "role", said, "ask an operator")
            asking = Asking(person, request.path_params, read(page.takes, fields, texts=True))
            request.state.since = self._parts.changes.number  # before anything is read for the page
            found = await page.run(asking)
            if isinstance(found, Download):
                return api.file_of(found)
            return await self._shown(found, screen, session, request)

        return answer

    async def _shown(
        self, view: View, screen: Screen, session: ConsoleSession, request: Request
    ) -> Response:
        if view.location:
            if "hx-request" in request.headers:
                return Response(status_code=200, headers={"hx-location": view.location})
            return RedirectResponse(view.location, 303)
        if not view.shared:
            return await self._made(view, screen, session, request)

        async def make() -> bytes:
            return bytes((await self._made(view, screen, session, request)).body)

        # What a role may do is part of what it is shown.
        key = view.template, view.shared, session.person.role
        return HTMLResponse(await self._shared.get(key, screen.name, make))

    async def _made(
        self, view: View, screen: Screen, session: ConsoleSession, request: Request
    ) -> HTMLResponse:
        person = session.person
        values = {
            "person": person,
            "may": person.may,
            "screen": screen,
            "screens": self._badged(person) if self._is_framed(view.template) else (),
            "csrf": session.csrf,
            "session": session.id,
            "since": request.state.since,
            "now": round(self._parts.clock(), 3),
            "theme": request.cookies.get("theme", ""),
            "copies": view.copies,
            "base": self._guard.base(request),
            "version": __version__,
            **view.values,
            **({} if view.later is None else await view.later()),
        }
        # Beside the loop: a page has as much foreign text as others wrote, and calls do not wait for it.
        return await asyncio.to_thread(self._html, view.template, values, view.status)

    def _is_framed(self, template: str) -> bool:
        """Whether it is a whole page, with the navigation around it: a part has nothing counted that it does not show."""
        found = self._framed.get(template)
        if found is None:
            loader = self._templates.loader
            source = "" if loader is None else loader.get_source(self._templates, template)[0]
            found = self._framed[template] = '{% extends "frame.html" %}' in source
        return found

    def _badged(self, person: Person) -> list[tuple[Screen, Badge | None]]:
        return [(one, one.badge(person)) for one in self._screens]

    async def _numbers(self, request: Request) -> Response:
        """The screens with what stands beside their names, for a page that is open."""
        person, name = self._session(request).person, request.query_params.get("name", "")
        screen = next((one for one in self._screens if one.name == name), self._screens[0])
        return self._html("screens.html", {"screens": self._badged(person), "screen": screen})

    def _html(self, template: str, values: dict[str, Any], status: int = 200) -> HTMLResponse:
        return HTMLResponse(self._templates.get_template(template).render(values), status)

    # -- the API

    def _operation(self, operation: Operation) -> Answering:
        async def answer(request: Request) -> Response:
            waits = self._caller(request)
            async with self._turn(operation, waits):
                return await api.run(operation, request, waits, lambda: self._caller(request))

        return answer

    def _turn(self, what: Page | Operation, person: Person) -> AbstractAsyncContextManager[None]:
        """While inside, it is this person's turn, where it takes one. Raises `ApiError` where too many wait."""
        return self._turns.of(person.id) if what.in_turn else nullcontext()

    def _caller(self, request: Request) -> Person:
        """Whoever shows a key, or is signed in. A cookie alone, which a browser sends by itself, is nobody. Raises `ApiError`."""
        shown = self._sign_in.bearer(request)
        return self._session(request).person if shown is None else shown

    async def _document(self, request: Request) -> Response:
        self._caller(request)
        if self._described is None:
            self._described = msgspec.json.encode(api.document(self._operations))
        return Response(self._described, media_type="application/json")

    # -- events

    async def _events(self, request: Request) -> Response:
        # An `EventSource` sends no header of ours. Its URL may stand in the log of a proxy, where the key without the cookie opens nothing.
        session = self._session(request, request.query_params.get("key", ""))
        changes = self._parts.changes
        person = session.person.id
        if changes.crowded(person):
            raise ApiError(503, "crowded", "too many pages are open", "close some")
        asked = request.query_params.get("topics", "")
        # One page of a browser listens for all of them, whichever screens they show.
        topics = TOPICS if asked == "all" else [one for one in asked.split(",") if one in TOPICS]
        last = request.headers.get("last-event-id") or request.query_params.get("since", "")
        after = int(last) if last.isascii() and last.isdigit() and len(last) < 20 else None
        stream = changes.events(person, topics, after, lambda: self._parts.sessions.over(session))
        return StreamingResponse(
            stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    # -- files

    async def _file(self, request: Request) -> Response:
        found = self._static.get(request.path_params["name"])
        if found is None:
            raise ApiError(404, "not_found", "no such file is here")
        return Response(found.content, media_type=found.type, headers={"cache-control": _YEAR})

    @staticmethod
    def _to(path: str) -> Answering:
        async def answer(request: Request) -> Response:
            return RedirectResponse(path, 307)

        return answer


def _kept_apart(response: Response) -> Response:
    """The answer, with what keeps it from other pages."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    response.headers.setdefault("cache-control", "no-store")
    return response
