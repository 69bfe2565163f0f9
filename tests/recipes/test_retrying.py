"""The recipes for libraries that retry: tenacity and stamina."""

from __future__ import annotations

import asyncio

import pytest

from otel_aml.core.circuit import CircuitState
from otel_aml.recover.breaker import CircuitOpen
from tests.recipes.recipes import Recipe, Script, needs, refused


@pytest.fixture(params=["tenacity", "stamina"])
def library(request, monkeypatch):
    needs(request.param)
    if request.param == "stamina":
        import stamina.instrumentation

        stamina.instrumentation.set_on_retry_hooks([])
    return request.param


def test_what_may_pass_is_tried_again(library, waits):
    """Two failures, then rows; each wait within its window."""
    fetch = Script(TimeoutError(), ConnectionError(), ["tx-1"])
    recipe = Recipe(library, fetch=fetch).run()
    assert recipe.get_transactions("C-17") == ["tx-1"]
    assert fetch.asked == ["C-17"] * 3
    assert len(waits) == 2
    limit = {"tenacity": (0.5, 1.0), "stamina": (1.5, 2.0)}[library]
    assert all(0 <= wait <= most for wait, most in zip(waits, limit, strict=True))


@pytest.mark.parametrize("error", [refused(404), refused(401), ValueError("tx-1"), RuntimeError("nobody knows")])
def test_what_would_fail_the_same_way_is_not(library, waits, error):
    """Nor what nobody knows; the error itself goes on."""
    recipe = Recipe(library, fetch=Script(error)).run()
    with pytest.raises(type(error)) as raised:
        recipe.get_transactions("C-17")
    assert raised.value is error
    assert waits == []


def test_tries_end(library, waits):
    """Three retries; the last error goes on as it is."""
    fetch = Script(*(TimeoutError(number) for number in range(9)))
    with pytest.raises(TimeoutError) as raised:
        Recipe(library, fetch=fetch).run().get_transactions("C-17")
    assert (raised.value.args, len(fetch.asked), len(waits)) == ((3,), 4, 3)


def test_the_dependencys_own_word_is_followed(library, waits):
    """HTTP 429 with a Retry-After: not before that, and not where it is more than five minutes."""
    recipe = Recipe(library, fetch=Script(refused(429, **{"Retry-After": "7"}), ["tx-1"])).run()
    assert recipe.get_transactions("C-17") == ["tx-1"]
    assert len(waits) == 1
    assert 7 <= waits[0] <= 7.5
    with pytest.raises(Exception, match="secret-host"):
        Recipe(library, fetch=Script(refused(429, **{"Retry-After": "301"}))).run().get_transactions("C-17")
    assert len(waits) == 1


def test_an_open_circuit_ends_the_retries(library, waits):
    """At the fifth failure in a row it opens: the call after it is not let out, and no loop spins."""
    fetch = Script(*(TimeoutError() for _ in range(9)))
    recipe = Recipe(library, fetch=fetch).run()
    for _ in range(2):
        with pytest.raises(TimeoutError):
            recipe.get_transactions("C-17")
    assert recipe.breaker.circuit.state is CircuitState.OPEN
    assert (len(fetch.asked), len(waits)) == (5, 3)
    with pytest.raises(CircuitOpen):
        recipe.get_transactions("C-17")
    assert (len(fetch.asked), len(waits)) == (5, 3)


def test_a_cancellation_is_not_retried(library, waits):
    """It passes through untouched."""
    recipe = Recipe(library, fetch=Script(asyncio.CancelledError())).run()
    with pytest.raises(asyncio.CancelledError):
        recipe.get_transactions("C-17")
    assert waits == []


def test_the_decorators_work_on_a_coroutine_function(waits):
    """As the page says of tenacity."""
    needs("tenacity")
    import tenacity

    recipe = Recipe("tenacity", fetch=None).run()
    fetch = Script(TimeoutError(), ["tx-1"])

    @tenacity.retry(retry=recipe.get_transactions.retry.retry, wait=recipe.get_transactions.retry.wait)
    @recipe.breaker
    async def get_transactions(case_id):
        return fetch(case_id)

    assert asyncio.run(get_transactions("C-17")) == ["tx-1"]
    assert len(waits) == 1
