"""Every error that otel_aml raises.

    OtelAmlError
    ├── ConfigurationError     what was declared cannot be used (a contract, an option, a missing extra)
    └── InputError             what was given to read cannot be read
        └── NothingUnderstood  files were read, and not one span was found in them

Each message says what was found, what was expected and what to do. None is ever raised inside a running agent:
`live/` counts its own faults instead.
"""


class OtelAmlError(Exception):
    """Base of all errors of this package."""


class ConfigurationError(OtelAmlError, ValueError):
    """Say that something declared (a contract, an option) cannot be used."""


class InputError(OtelAmlError):
    """Say that something given to read cannot be read."""


class NothingUnderstood(InputError):  # noqa: N818 - the name is the sentence
    """Say that files were read and no span was found in them."""
