"""Exceptions as real libraries raise them: each a function that gives one, and what it means.

A library that is not installed is left out; `.ci/run` installs all of them (extra `clients`).
"""

import asyncio
import concurrent.futures
import http.client
import importlib.util
import json
import socket
import sqlite3
import ssl
import subprocess
import sys
import urllib.error
from email.message import Message

import pytest

NOBODY = "http://127.0.0.1:1/"
TRANSIENT = {"timeout", "rate_limited", "unavailable", "conflict"}


def caught(call, *args, **named):
    """What a call raises."""
    try:
        call(*args, **named)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def has(library):
    return importlib.util.find_spec(library) is not None


def httpx_errors():
    import httpx

    request = httpx.Request("GET", NOBODY)

    def status(code, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return caught(httpx.Response(code, headers=named, request=request).raise_for_status)

    yield "a refused connection", caught(httpx.get, NOBODY), "unavailable"
    yield "a read timeout", httpx.ReadTimeout("x"), "timeout"
    yield "a connect timeout", httpx.ConnectTimeout("x"), "timeout"
    yield "a pool timeout", httpx.PoolTimeout("x"), "timeout"
    yield "a read error", httpx.ReadError("x"), "unavailable"
    yield "a cut answer", httpx.RemoteProtocolError("x"), "unavailable"
    yield "a scheme that is none", caught(httpx.get, "ftp://127.0.0.1/"), "UnsupportedProtocol"
    for code, how in STATUSES:
        yield f"status {code}", status(code), how
    yield "seconds to wait", status(429, retry_after="7"), "rate_limited", 7_000
    yield "a date to wait for", status(503, retry_after=LATER, date=NOW), "unavailable", 90_000


NOW, LATER = "Mon, 30 Nov 2026 10:00:00 GMT", "Mon, 30 Nov 2026 10:01:30 GMT"
STATUSES = [
    (400, "400"), (401, "auth"), (403, "auth"), (404, "not_found"), (408, "timeout"), (409, "409"), (422, "422"),
    (425, "unavailable"), (429, "rate_limited"), (500, "unavailable"), (501, "501"), (502, "unavailable"),
    (503, "unavailable"), (504, "timeout"),
]  # fmt: skip


def requests_errors():
    import requests

    def status(code, **headers):
        response = requests.Response()
        response.status_code = code
        response.headers.update(headers)
        return caught(response.raise_for_status)

    junk = requests.Response()
    junk._content = b"<html>"
    yield "a refused connection", caught(requests.get, NOBODY, timeout=2), "unavailable"
    yield "a read timeout", requests.ReadTimeout("x"), "timeout"
    yield "a connect timeout", requests.ConnectTimeout("x"), "timeout"
    yield "a cut answer", requests.exceptions.ChunkedEncodingError("x"), "unavailable"
    yield "a certificate", requests.exceptions.SSLError("x"), "tls"
    yield "an address that is none", caught(requests.get, "http://"), "InvalidURL"
    yield "a service that answers junk", caught(junk.json), "JSONDecodeError"
    for code, how in STATUSES:
        yield f"status {code}", status(code), how
    yield "seconds to wait", status(503, **{"Retry-After": "2"}), "unavailable", 2_000


def provider_errors(name):
    client = importlib.import_module(name)
    http = importlib.import_module("httpx2" if has("httpx2") else "httpx")
    request = http.Request("POST", NOBODY)

    def status(kind, code, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return kind("m", response=http.Response(code, headers=named, request=request), body=body)

    yield "a timeout", client.APITimeoutError(request=request), "timeout"
    yield "no connection", client.APIConnectionError(request=request), "unavailable"
    yield "a rate limit", status(client.RateLimitError, 429, retry_after="20"), "rate_limited", 20_000
    yield "a rate limit in ms", status(client.RateLimitError, 429, retry_after_ms="150"), "rate_limited", 150
    yield "an outage", status(client.InternalServerError, 503), "unavailable"
    yield "a key that is none", status(client.AuthenticationError, 401), "auth"
    yield "no permission", status(client.PermissionDeniedError, 403), "auth"
    yield "a bad request", status(client.BadRequestError, 400), "400"
    yield "no such model", status(client.NotFoundError, 404), "not_found"
    yield "no such word", status(client.UnprocessableEntityError, 422), "422"


def openai_errors():
    import openai

    http = importlib.import_module("httpx2" if has("httpx2") else "httpx")
    response = http.Response(429, request=http.Request("POST", NOBODY))
    yield from provider_errors("openai")
    yield (
        "no money left",
        openai.RateLimitError("m", response=response, body={"code": "insufficient_quota"}),
        "quota_exhausted",
    )


def anthropic_errors():
    import anthropic

    http = importlib.import_module("httpx2" if has("httpx2") else "httpx")
    yield from provider_errors("anthropic")
    if hasattr(anthropic, "OverloadedError"):
        busy = http.Response(529, request=http.Request("POST", NOBODY))
        yield "overloaded", anthropic.OverloadedError("m", response=busy, body=None), "unavailable"


def grpc_errors():
    import grpc
    import grpc.aio

    def failed(code, **trailing):
        pairs = [(name.replace("_", "-"), value) for name, value in trailing.items()]
        return grpc.aio.AioRpcError(getattr(grpc.StatusCode, code), grpc.aio.Metadata(), grpc.aio.Metadata(*pairs))

    def call():
        with grpc.insecure_channel("127.0.0.1:1") as channel:
            channel.unary_unary("/a/b")(b"", timeout=5)

    yield "nobody there", caught(call), "unavailable"
    yield "unavailable", failed("UNAVAILABLE"), "unavailable"
    yield "a deadline", failed("DEADLINE_EXCEEDED"), "timeout"
    yield "exhausted", failed("RESOURCE_EXHAUSTED", grpc_retry_pushback_ms="1200"), "rate_limited", 1_200
    yield "aborted", failed("ABORTED"), "conflict"
    yield "no key", failed("UNAUTHENTICATED"), "auth"
    yield "no permission", failed("PERMISSION_DENIED"), "auth"
    yield "bad arguments", failed("INVALID_ARGUMENT"), "INVALID_ARGUMENT"
    yield "a crash", failed("INTERNAL"), "INTERNAL"
    yield "not a call", grpc.RpcError("x"), "RpcError"


def redis_errors():
    import redis

    yield "a refused connection", caught(redis.Redis(port=1).ping), "unavailable"
    yield "a timeout", redis.TimeoutError("x"), "timeout"
    yield "loading", redis.exceptions.BusyLoadingError("x"), "unavailable"
    yield "a password", redis.AuthenticationError("x"), "auth"
    yield "a word that it does not know", redis.ResponseError("x"), "ResponseError"
    yield "a cluster that is down", redis.exceptions.ClusterDownError("CLUSTERDOWN"), "unavailable"


def psycopg_errors():
    import psycopg
    from psycopg import errors

    yield "a refused connection", caught(psycopg.connect, "host=127.0.0.1 port=1"), "unavailable"
    yield "a connect timeout", errors.ConnectionTimeout("x"), "timeout"
    yield "a statement timeout", errors.QueryCanceled("x"), "timeout"
    yield "serialization", errors.SerializationFailure("x"), "conflict"
    yield "a deadlock", errors.DeadlockDetected("x"), "conflict"
    yield "a lock", errors.LockNotAvailable("x"), "conflict"
    yield "too many", errors.TooManyConnections("x"), "unavailable"
    yield "a shutdown", errors.AdminShutdown("x"), "unavailable"
    yield "a password", errors.InvalidPassword("x"), "auth"
    yield "no permission", errors.InsufficientPrivilege("x"), "auth"
    yield "a duplicate", errors.UniqueViolation("x"), "SQLSTATE_23505"
    yield "no such table", errors.UndefinedTable("x"), "SQLSTATE_42P01"
    yield "a broken program", psycopg.ProgrammingError("x"), "ProgrammingError"


async def _asyncio_errors():
    async def slow():
        await asyncio.sleep(60)

    async def cut():
        reader = asyncio.StreamReader()
        reader.feed_eof()
        await reader.readexactly(4)

    found = []
    for name, work, how in (
        ("a deadline", asyncio.wait_for(slow(), 0.001), "timeout"),
        ("a cut", cut(), "unavailable"),
    ):
        try:
            await work
        except Exception as error:
            found.append((name, error, how))
    return found


def asyncio_errors():
    yield from asyncio.run(_asyncio_errors())


def builtin_errors():
    yield "a timeout", TimeoutError("x"), "timeout"
    yield "a timeout of a pool", concurrent.futures.TimeoutError(), "timeout"
    yield "a child of one", type("SlowBank", (TimeoutError,), {})("x"), "timeout"
    yield "a reset", ConnectionResetError("x"), "unavailable"
    yield "a refused connection", caught(socket.create_connection, ("127.0.0.1", 1)), "unavailable"
    yield "no route", OSError(113, "No route to host"), "unavailable"
    yield "a name server", socket.gaierror(-3, "Temporary failure"), "unavailable"
    yield "a name that is none", socket.gaierror(-2, "Name or service not known"), "gaierror"
    yield "a broken pipe", BrokenPipeError("x"), "unavailable"
    yield "a cut answer", http.client.IncompleteRead(b""), "unavailable"
    yield "nobody answers", http.client.RemoteDisconnected("x"), "unavailable"
    yield "a certificate", ssl.SSLCertVerificationError("x"), "tls"
    yield "a child process", caught(subprocess.run, [sys.executable, "-c", "while 1: 0"], timeout=0.05), "timeout"
    yield "urllib", urllib.error.HTTPError(NOBODY, 503, "x", message({"Retry-After": "4"}), None), "unavailable", 4_000
    yield "no permission", PermissionError("x"), "auth"
    yield "no such file", FileNotFoundError("x"), "FileNotFoundError"
    yield "a key", KeyError("x"), "KeyError"
    yield "a value", ValueError("x"), "ValueError"
    yield "anything", RuntimeError("x"), "RuntimeError"
    yield "a locked file", locked(), "conflict"
    yield "no such table", caught(sqlite3.connect(":memory:").execute, "select * from x"), "OperationalError"
    yield "an interrupt", KeyboardInterrupt(), "KeyboardInterrupt"


def message(headers):
    found = Message()
    for name, value in headers.items():
        found[name] = value
    return found


def locked():
    uri = "file:locked?mode=memory&cache=shared"
    first, second = (sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None) for _ in range(2))
    first.execute("create table t (x)")
    first.execute("begin exclusive")
    error = caught(second.execute, "insert into t values (1)")
    first.close(), second.close()
    return error


BROKEN = json.JSONDecodeError("x", "y", 0)

LIBRARIES = {
    "httpx": httpx_errors,
    "requests": requests_errors,
    "openai": openai_errors,
    "anthropic": anthropic_errors,
    "grpc": grpc_errors,
    "redis": redis_errors,
    "psycopg": psycopg_errors,
    "asyncio": asyncio_errors,
    "builtins": builtin_errors,
}


def errors():
    """Give a test case for each exception of each library that is here."""
    for library, make in LIBRARIES.items():
        if has(library):
            for name, error, how, *after in make():
                yield pytest.param(error, how, after[0] if after else None, id=f"{library}: {name}")
        else:
            missing = pytest.mark.skip(f"needs {library}: pip install -e '.[clients]'")
            yield pytest.param(None, "", None, id=library, marks=missing)
