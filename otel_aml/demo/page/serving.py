"""Serves the page on the loopback until it is stopped, and says where."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from otel_aml.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from uvicorn import Config

    from otel_aml.demo.desk import Desk
    from otel_aml.demo.page.cases import PageCase
    from otel_aml.demo.page.doors import Doors
    from otel_aml.demo.page.investigation import Investigation
    from otel_aml.demo.page.office import Office

LOOPBACK: Final = "127.0.0.1"
QUEUE, INVESTIGATIONS, TRACES = "takeover.db", "investigations", "page-traces.jsonl"


@contextmanager
def opened_office(
    folder: Path, *, seed: int, desk_of: Callable[[PageCase, Investigation], Desk] | None = None
) -> Generator[Office]:
    """Open all that the page stands on, in a folder: what was there before goes on.

    Raises:
        ConfigurationError: The exporter of OTLP JSON files is not installed, or the folder cannot be used.
    """
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    import otel_aml
    from otel_aml.demo.page.app import ANALYST
    from otel_aml.demo.page.cases import PageCase, deal_page_cases
    from otel_aml.demo.page.investigation import Shelf
    from otel_aml.demo.page.office import Office
    from otel_aml.demo.run import CONTRACT, file_exporter

    folder.mkdir(parents=True, exist_ok=True)
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource({"service.name": "aml-copilot-demo", "aml.synthetic": True}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(SimpleSpanProcessor(file_exporter(folder / TRACES)))
    otel_aml.install(provider, contract=CONTRACT)
    try:
        with otel_aml.TakeoverQueue(folder / QUEUE) as queue:
            office = Office(
                shelf=Shelf(folder / INVESTIGATIONS),
                queue=queue,
                cases=deal_page_cases(seed),
                provider=provider,
                analyst=ANALYST,
                desk_of=desk_of or PageCase.desk,
            )
            office.catch_up()
            yield office
    finally:
        provider.shutdown()


def serve(folder: Path, *, seed: int, port: int, say: Callable[[str], None]) -> None:
    """Serve the page until it is stopped.

    Args:
        folder: Where its files go.
        seed: The same seed deals the same investigations.
        port: On the loopback; 0 for any that is free.
        say: Tells the person where to look.

    Raises:
        ConfigurationError: The extra `page` is not installed, or the port cannot be had.
    """
    try:
        import uvicorn

        from otel_aml.demo.page.app import page
    except ImportError as missing:
        raise ConfigurationError(
            "the page needs Starlette, Jinja and uvicorn; install them with: pip install 'otel-aml[page]'"
        ) from missing
    with bound(port) as listening, opened_office(folder, seed=seed) as office:
        doors = page(office, port=listening.getsockname()[1])
        say(f"open {doors.link} (this machine only; stop with Ctrl-C)")
        uvicorn.Server(config(doors)).run(sockets=[listening])


def config(doors: Doors) -> Config:
    """Say how uvicorn serves: quietly, nothing but HTTP, no header that names it."""
    import uvicorn

    return uvicorn.Config(
        doors,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
    )


@contextmanager
def bound(port: int) -> Generator[socket.socket]:
    """Listen on the loopback.

    Raises:
        ConfigurationError: The port cannot be had.
    """
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
            listening.listen()  # Whoever follows the link at once waits, and is not turned away.
        except OSError as error:
            raise ConfigurationError(
                f"port {port} of {LOOPBACK} cannot be had ({error.strerror}); give another: --port N, or 0 for any"
            ) from error
        yield listening
