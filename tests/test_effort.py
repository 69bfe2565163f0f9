"""The measure of work itself: what is quadratic is seen, also inside a comprehension."""

import effort
import pytest


def a_loop(size):
    def call():
        for _ in range(size):
            for _ in range(size):
                pass

    return call


def a_comprehension(size):
    return lambda: [any(other < 0 for other in range(size)) for _ in range(size)]


def one_pass(size):
    return lambda: sum(each for each in range(size))


@pytest.mark.parametrize(("make", "is_linear"), [(a_loop, False), (a_comprehension, False), (one_pass, True)])
def test_what_is_quadratic_is_seen(make, is_linear):
    assert effort.grows_as_fast_as_its_input(make, size=50) is is_linear
