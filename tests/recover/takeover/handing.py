"""Tasks as an agent hands them over."""

from otel_aml.recover.takeover import ApprovalTask, ResumePlan


def review(**more):
    """A failed investigation, as an agent hands it over."""
    given = {
        "kind": "error_review",
        "failure_class": "tool_failure",
        "state": {"evidence": ["tx-1", "tx-2"]},
        "plan": ResumePlan(done=["evidence"], left=["typology", "draft", "review"]),
        "case_id": "C-17",
        "technical_detail": "TimeoutError at app.py:16",
    }
    return ApprovalTask(**(given | more))


def draft(**more):
    """A finished draft, as an agent hands it over."""
    given = {
        "kind": "sar_approval",
        "state": {"narrative": "..."},
        "author": "bo",
        "typology": "structuring",
        "case_id": "C-18",
        "trace_id": "0AF7651916CD43DD8448EB211C80319C",
    }
    return ApprovalTask(**(given | more))
