"""The same provider with the processor as in `tests/live`."""

from tests.live.conftest import make, simple

__all__ = ["make", "simple"]
