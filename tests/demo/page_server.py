"""The copilot's page, served by a real server on a free port of the loopback, in a thread of the test's own."""

import http.client
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from urllib.parse import urlencode

import uvicorn

from otel_aml.demo.page.app import page
from otel_aml.demo.page.serving import bound, config, opened_office

PATIENCE_SECONDS = 30


class Recorded:
    """An app, and every byte that it sends: status, headers and bodies."""

    def __init__(self, app):
        self.app, self.sent = app, []

    async def __call__(self, scope, receive, send):
        async def recording(message):
            self.sent.append(f"{message.get('status', '')} {message.get('headers', '')}".encode())
            self.sent.append(message.get("body", b""))
            await send(message)

        await self.app(scope, receive, recording)

    def text(self):
        return b"\n".join(self.sent).decode()


@contextmanager
def serving(folder, *, seed=7, desk_of=None):
    """Serve it; gives the link that lets in, the address, and the office behind it."""
    with bound(0) as listening, opened_office(folder, seed=seed, desk_of=desk_of) as office:
        port = listening.getsockname()[1]
        doors = page(office, port=port)
        recorded = Recorded(doors)
        server = uvicorn.Server(config(recorded))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not server.started:
            assert thread.is_alive()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        try:
            yield SimpleNamespace(
                link=doors.link, url=f"http://127.0.0.1:{port}", port=port, office=office, recorded=recorded
            )
        finally:
            server.should_exit = True
            thread.join(PATIENCE_SECONDS)


@dataclass
class Answer:
    status: int
    headers: dict
    text: str


@dataclass
class Visitor:
    """Somebody who speaks HTTP by hand, and can leave out or forge whatever they like."""

    port: int
    cookie: str = ""
    seen: list = field(default_factory=list)

    def ask(self, method, path, form=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        sent = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie}
        if method == "POST":
            sent |= {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/x-www-form-urlencoded"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = None if form is None else form if isinstance(form, str | bytes) else urlencode(form, doseq=True)
        try:
            connection.request(method, path, body, {name: value for name, value in sent.items() if value is not None})
            found = connection.getresponse()
            answer = Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read().decode())
        finally:
            connection.close()
        self.seen.append(answer)
        return answer

    def enter(self, link):
        """Take the link, and keep the cookie."""
        answer = self.ask("GET", link.partition(str(self.port))[2])
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    def csrf(self):
        """Read the token off a page."""
        return self.ask("GET", "/").text.partition('name="csrf" value="')[2].partition('"')[0]
