"""`SignInPages`: pages of sign-in (one-time URL, key, OpenID Connect) and sign-out; shell page that loads a page again with the CSRF key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from gatewright.console.dependencies import Dependencies
from gatewright.console.guard import Guard, body_of
from gatewright.console.oidc_routes import OidcRoutes
from gatewright.console.operations import ApiError
from gatewright.console.sign_in import KEY, SignIn

__all__ = ["SignInPages", "form_of", "key_in"]

_FIELDS = 200
Html = Callable[[str, dict[str, Any], int], HTMLResponse]
Answering = Callable[[Request], Awaitable[Response]]


class SignInPages:
    """Of one console. Nothing on them is private: whoever comes here is nobody yet."""

    def __init__(self, parts: Dependencies, guard: Guard, html: Html) -> None:
        self._html = html
        self.sign_in = SignIn(parts, guard, self._signed_in)
        self._oidc = OidcRoutes(parts, self.sign_in, self._page, self._signed_in)

    @property
    def routes(self) -> Sequence[tuple[str, Answering, str]]:
        """Path, answer and method of each."""
        return (
            ("/open", self._opening, "GET"),
            ("/open", self._open, "POST"),
            ("/sign-in", self._signing_in, "GET"),
            ("/sign-in", self._key, "POST"),
            ("/sign-out", self._out, "POST"),
            *self._oidc.routes,
        )

    def shell(self, request: Request) -> Response:
        """What a browser gets that shows a cookie alone: a script that asks for the page again, with the page key."""
        return self._html("shell.html", {"title": "Console", "theme": _theme(request)}, 200)

    async def _opening(self, request: Request) -> Response:
        # The token stands behind `#`: browsers send it to nobody, and no log has it.
        values = {"title": "Opening the console", "theme": _theme(request)}
        return self._html("open.html", values, 200)

    async def _open(self, request: Request) -> Response:
        token = (await form_of(request)).get("token", "")
        return self.sign_in.by_token(request, {"token": token})

    async def _signing_in(self, request: Request) -> Response:
        return self._page(request, None)

    async def _key(self, request: Request) -> Response:
        form = await form_of(request)
        try:
            return self.sign_in.by_key(request, {"key": form.get("key", "")})
        except ApiError as problem:
            return self._page(request, problem)

    async def _out(self, request: Request) -> Response:
        session = self.sign_in.session(request)
        self.sign_in.check_key(request, session, key_in(request, await form_of(request)))
        return self.sign_in.sign_out(request, session)

    def _page(self, request: Request, problem: ApiError | None, way: str = "") -> Response:
        values = {
            "title": "Sign in",
            "next": way or request.query_params.get("next", ""),
            "over": request.query_params.get("over", ""),
            "theme": _theme(request),
            "problem": problem,
            "issuer": self._oidc.issuer,
        }
        return self._html("sign_in.html", values, 200 if problem is None else problem.status)

    def _signed_in(self, key: str, way: str, unconfirmed: str = "") -> Response:
        title = "Not confirmed" if unconfirmed else "Signed in"
        values = {"title": title, "key": key, "way": way, "unconfirmed": unconfirmed, "theme": ""}
        return self._html("signed_in.html", values, 200)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form. Raises `ApiError`."""
    body = (await body_of(request)).decode("utf-8", "replace")
    try:
        pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        raise ApiError(413, "too_large", f"a form has at most {_FIELDS} fields") from None
    return dict(pairs)


def key_in(request: Request, fields: dict[str, str]) -> str:
    """The page key that a form brings, taken out of its fields."""
    return request.headers.get(KEY, "") or fields.pop("csrf", "")


def _theme(request: Request) -> str:
    return request.cookies.get("theme", "")
