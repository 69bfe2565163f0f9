"""Every error that otel_aml raises.

    OtelAmlError
    ├── ConfigurationError     what was declared cannot be used (a contract, an option, a missing extra)
    ├── InputError             what was given to read cannot be read
    │   └── NothingUnderstood  files were read, and not one span was found in them
    └── QueueError             the takeover queue says no
        ├── InvalidTask        a task, a decision or an argument cannot be taken as it is (also a ValueError)
        ├── UnknownTask        no task has this id
        ├── TaskHeld           another person holds the task
        ├── AlreadyDecided     the task is decided; the error carries the decision
        ├── NotAllowed         this person, or this choice, may not decide it
        └── QueueUnavailable   the database cannot be opened, reached or written
Each message says what was found, what was expected and what to do. None is ever raised inside a running agent:
`live/` counts its own faults instead. Those of the queue reach who calls it.
"""


class OtelAmlError(Exception):
    """Base of all errors of this package."""


class ConfigurationError(OtelAmlError, ValueError):
    """Say that something declared (a contract, an option) cannot be used."""


class InputError(OtelAmlError):
    """Say that something given to read cannot be read."""


class NothingUnderstood(InputError):  # noqa: N818 - the name is the sentence
    """Say that files were read and no span was found in them."""


class QueueError(OtelAmlError):
    """Base of what the takeover queue says no with; nothing was changed."""


class InvalidTask(QueueError, ValueError):  # noqa: N818 - the name is the sentence
    """Say that a task, a decision or an argument cannot be taken as it is."""


class UnknownTask(QueueError):  # noqa: N818 - the name is the sentence
    """Say that no task has this id."""


class TaskHeld(QueueError):  # noqa: N818 - the name is the sentence
    """Say that another person holds the task."""


class AlreadyDecided(QueueError):  # noqa: N818 - the name is the sentence
    """Say that the task is decided.

    Args:
        message: What is said.
        decision: The decision that stands, an `otel_aml.recover.takeover.Decision`.
    """

    def __init__(self, message: str, decision: object) -> None:
        super().__init__(message)
        self.decision = decision


class NotAllowed(QueueError):  # noqa: N818 - the name is the sentence
    """Say that this person, or this choice, may not decide the task."""


class QueueUnavailable(QueueError):  # noqa: N818 - the name is the sentence
    """Say that the database cannot be opened, reached or written."""
