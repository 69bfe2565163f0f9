"""The pydantic forms take what the core takes, and refuse what it refuses."""

import pytest
from pydantic import ValidationError

from otel_aml.core.recovery import StepError, plan_recovery
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.recover.errors import RecoveryPlanModel, StepErrorModel


@pytest.mark.parametrize("failure_class", FAILURES)
def test_there_and_back(failure_class):
    """By way of JSON, as in the state of a graph."""
    error = StepError(
        step_id="s", failure_class=failure_class, user_message="m", technical_detail="d", attempt=1, hint="h"
    )
    plan = plan_recovery(error)
    assert StepErrorModel.model_validate_json(StepErrorModel.of(error).model_dump_json()).value() == error
    assert RecoveryPlanModel.model_validate_json(RecoveryPlanModel.of(plan).model_dump_json()).value() == plan


REFUSED = [
    pytest.param({"failure_class": "hallucination", "retriable": True}, "is not retriable", id="a retriable invention"),
    pytest.param({"failure_class": "pass"}, "cannot fail as", id="a pass"),
    pytest.param({"failure_class": "nonsense"}, "Input should be", id="no class"),
    pytest.param({"attempt": -1}, "is no whole number from 0 up", id="less than no attempts"),
    pytest.param({"extra": 1}, "Extra inputs", id="something else"),
]


@pytest.mark.parametrize(("given", "says"), REFUSED)
def test_what_would_mislead_is_refused(given, says):
    """With the words of the core."""
    with pytest.raises(ValidationError, match=says):
        StepErrorModel(**{"step_id": "s", "failure_class": FailureClass.TOOL_FAILURE, "user_message": "m"} | given)


def test_the_forms_have_the_fields_of_the_values():
    """None is forgotten when one is added."""
    assert list(StepErrorModel.model_fields) == list(StepError.__dataclass_fields__)
    assert list(RecoveryPlanModel.model_fields) == list(plan_recovery(_error()).__dataclass_fields__)


def _error():
    return StepError(step_id="s", failure_class=FailureClass.TOOL_FAILURE, user_message="m")


def test_the_detail_is_not_in_the_repr():
    """Which ends in logs."""
    assert "secret" not in repr(StepErrorModel.of(StepError(**_fields(technical_detail="secret"))))


def _fields(**more):
    return {"step_id": "s", "failure_class": FailureClass.TOOL_FAILURE, "user_message": "m"} | more
