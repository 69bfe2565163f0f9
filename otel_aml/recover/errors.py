"""The pydantic forms of an error at a step and of its plan: for the state of a graph, a queue, or an answer over HTTP.

They take what the core's values take and refuse what those refuse; `value()` gives the core's back.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, model_validator

from otel_aml.core.circuit import CircuitState  # noqa: TC001 - pydantic reads it
from otel_aml.core.recovery import Reason, RecoveryPlan, Repair, StepError
from otel_aml.core.taxonomy import FailureClass, RecoveryPath  # noqa: TC001 - pydantic reads them

if TYPE_CHECKING:
    from typing import Self


class StepErrorModel(BaseModel):
    """An error at a step; its fields are those of `StepError`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step_id: str
    failure_class: FailureClass
    user_message: str
    technical_detail: str = Field(default="", repr=False)
    retriable: bool = False
    attempt: int = 0
    error_type: str = ""
    retry_after_ms: int | None = None
    hint: str = ""

    @model_validator(mode="after")
    def _as_in_the_core(self) -> Self:
        self.value()
        return self

    @classmethod
    def of(cls, error: StepError) -> Self:
        """Take the core's value."""
        return cls(**asdict(error))

    def value(self) -> StepError:
        """Give the core's value back."""
        return StepError(**dict(self))


class RecoveryPlanModel(BaseModel):
    """A plan; its fields are those of `RecoveryPlan`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: RecoveryPath
    reason: Reason
    automatic: bool = False
    wait_ms: int = Field(default=0, ge=0)
    retry_after_ms: int | None = Field(default=None, ge=0)
    repair: Repair | None = None
    repair_text: str = ""
    circuit_state: CircuitState | None = None

    @classmethod
    def of(cls, plan: RecoveryPlan) -> Self:
        """Take the core's value."""
        return cls(**asdict(plan))

    def value(self) -> RecoveryPlan:
        """Give the core's value back."""
        return RecoveryPlan(**dict(self))
