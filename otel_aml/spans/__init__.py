"""One shape for every span, whatever its source."""
