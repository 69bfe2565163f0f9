"""An error at a step, as data: what kind it is, what the user may read, whether the same call may succeed later."""

from __future__ import annotations

from dataclasses import dataclass

from otel_aml.core.taxonomy import TAXONOMY, FailureClass


@dataclass(frozen=True, slots=True, kw_only=True)
class StepError:
    """One error that the app caught at a step.

    Args:
        step_id: The step, as the app names it.
        failure_class: One of the six.
        user_message: What the user may read; from the catalogue in `core.messages`.
        technical_detail: For operators only; never part of a message.
        retriable: Whether the same call may succeed later. Only a call outside the model can: what a model wrote
            from the same input fails the same way.
        attempt: Retries already made, from 0.

    Raises:
        ValueError: The class is none of the six, the attempt is negative, or an error is called retriable that is not
            a tool failure.
    """

    step_id: str
    failure_class: FailureClass
    user_message: str
    technical_detail: str = ""
    retriable: bool = False
    attempt: int = 0

    def __post_init__(self) -> None:
        if self.failure_class not in TAXONOMY:
            raise ValueError(f"a step cannot fail as {self.failure_class!r}; give one of {', '.join(TAXONOMY)}")
        if self.attempt < 0:
            raise ValueError(f"attempt={self.attempt} is negative; count the retries already made, from 0")
        if self.retriable and self.failure_class != FailureClass.TOOL_FAILURE:
            raise ValueError(
                f"a {self.failure_class} is not retriable: the same input fails the same way; "
                f"only a {FailureClass.TOOL_FAILURE} may be retried"
            )
