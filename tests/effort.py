"""How much work a call does, counted in lines run: the same on every machine, however busy."""

import sys


def of(call):
    """The lines of Python that a call runs, each turn of a loop anew."""
    lines = 0

    def count(_frame, event, _argument):
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def grows_as_fast_as_its_input(make, size=500):
    """Whether three times the input takes about three times the work; nine times would be quadratic.

    `make(size)` prepares a call on an input of that size.
    """
    return of(make(3 * size)) < 4.5 * of(make(size))
