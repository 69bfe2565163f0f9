"""Who may come in: from this machine, by the link that the terminal shows, with a form that this page drew.

Against a page elsewhere that makes the browser ask in its name: the Host that is asked for must be ours (a name that
was pointed at the loopback is none), the cookie is never sent along from another site, and what changes something must
come from our origin and carry the session's token.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

FORM_BYTES: Final = 256 * 1024
POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
POLICY_OF_A_SCRIPT: Final = f"{POLICY}; script-src 'self'; connect-src 'self'"
"""For a page that runs a script of ours."""
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: under it a browser sends `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
ENTER: Final = "/enter/"
_SAFE: Final = frozenset({"GET", "HEAD"})
_TOKEN_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who is here.

    Args:
        key: What the cookie holds.
        csrf: What a form must carry.
        person: Who it is: in an app the user who has logged in.
        locale: `en` or `zh`; None until it is chosen.
    """

    key: str = field(repr=False)
    csrf: str = field(repr=False)
    person: str
    locale: str | None = None


class Doors:
    """An ASGI app around the page's: lets in who may, and puts the headers on everything that leaves.

    Args:
        app: The page.
        port: That it is served on; only so do we know our own name.
        person: Who comes in first.
        token: Of the link; drawn unless given.
    """

    def __init__(self, app: ASGIApp, *, port: int, person: str, token: str | None = None) -> None:
        self._app = app
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._cookie = f"copilot_{port}"
        self._person = person
        self._token = token or secrets.token_urlsafe(_TOKEN_BYTES)
        self._sessions: dict[str, Session] = {}
        self.link = f"http://127.0.0.1:{port}{ENTER}{self._token}"

    def keep(self, session: Session, **changes: str) -> Session:
        """Change a session."""
        self._sessions[session.key] = replace(session, **changes)
        return self._sessions[session.key]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (await self._chosen(scope, receive))(scope, receive, send_with_headers)

    async def _chosen(self, scope: Scope, receive: Receive) -> ASGIApp:
        """Find what answers: the page, or a refusal in one sentence."""
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        host = headers.get("host", "")
        if host not in self._hosts:
            return PlainTextResponse("This page answers to its own address only.\n", status_code=421)
        if method in _SAFE and path.startswith(ENTER):
            return self._entered(path.removeprefix(ENTER))
        session = self._sessions.get(_cookie_of(headers, self._cookie))
        if session is None:
            return PlainTextResponse("Open the link that the terminal shows.\n", status_code=403)
        scope.setdefault("state", {}).update({"session": session, "form": {}})
        if method in _SAFE:
            return self._app
        if method != "POST":
            return PlainTextResponse("This page knows GET and POST.\n", status_code=405)
        return await self._posted(scope, receive, session, headers)

    async def _posted(self, scope: Scope, receive: Receive, session: Session, headers: Headers) -> ASGIApp:
        if headers.get("origin") != f"http://{headers['host']}":
            return PlainTextResponse("This form was not sent from this page.\n", status_code=403)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
            return PlainTextResponse("This page takes its own forms only.\n", status_code=415)
        body = b""
        async for chunk in Request(scope, receive).stream():
            body += chunk
            if len(body) > FORM_BYTES:
                return PlainTextResponse("The form is too long.\n", status_code=413)
        try:
            form = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=2_000)
        except ValueError:
            return PlainTextResponse("The form cannot be read.\n", status_code=400)
        given = form.get("csrf", [""])[0]
        if not secrets.compare_digest(given.encode(), session.csrf.encode()):
            return PlainTextResponse("This form was not drawn for you; load the page again.\n", status_code=403)
        scope["state"]["form"] = form
        return self._app

    def _entered(self, token: str) -> ASGIApp:
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return PlainTextResponse("Open the link that the terminal shows.\n", status_code=403)
        session = Session(
            key=secrets.token_urlsafe(_TOKEN_BYTES), csrf=secrets.token_urlsafe(_TOKEN_BYTES), person=self._person
        )
        self._sessions[session.key] = session
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(self._cookie, session.key, httponly=True, samesite="strict")
        return answer


def _cookie_of(headers: Headers, name: str) -> str:
    try:
        found: Any = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else str(found.value)
