"""Where two classes meet: for each pair the rule that parts them, and a precedent on either side.

Most disputes are at the edges. Each precedent is a story in one sentence with the facts that it describes, and runs as
a test: the tree must name the class that stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from otel_aml.core.facts import Facts, Failure
from otel_aml.core.taxonomy import FailureClass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Precedent:
    """One settled dispute.

    Args:
        story: What happened, in one sentence.
        facts: The same as the tree sees it.
        failure_class: How it was settled.
    """

    story: str
    facts: Facts
    failure_class: FailureClass


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where two classes meet.

    Args:
        classes: The two, in the order of the tree.
        rule: What parts them.
        precedents: One that falls to the first, one that falls to the second.
    """

    classes: tuple[FailureClass, FailureClass]
    rule: str
    precedents: tuple[Precedent, Precedent]


_T, _F, _H = FailureClass.TOOL_FAILURE, FailureClass.FORMAT_VIOLATION, FailureClass.HALLUCINATION
_R, _P, _M = FailureClass.RETRIEVAL_MISS, FailureClass.CONTEXT_POLLUTION, FailureClass.TYPOLOGY_MISJUDGE

_GOOD: Final = Facts(
    answer_valid=True,
    cited_ids=frozenset({"tx-1", "tx-2"}),
    evidence_ids=frozenset({"tx-1", "tx-2", "tx-3"}),
    needed_notes=(frozenset({"structuring"}),),
    retrieved_ids=frozenset({"structuring", "layering"}),
    context_used=True,
    typology="structuring",
    gold_typology="structuring",
)
"""A run in which everything went well; each precedent says what was otherwise."""

_SCREENING_FAILED: Final = (Failure(dependency="screen_sanctions", error_type="timeout", retriable=True),)
_SEARCH_FAILED: Final = (Failure(dependency="search_notes", error_type="unavailable", retriable=True),)
_ARGUMENTS_REJECTED: Final = (Failure(dependency="get_transactions", error_type="invalid_arguments"),)
_INVENTED: Final = frozenset({"tx-1", "tx-99"})
_OTHER_NOTES: Final = frozenset({"layering"})

_ALL: Final = (
    Boundary(
        (_T, _F),
        "Did the tool run? Rejected before it ran (arguments that do not fit, an unknown name): format_violation. "
        "Ran and failed: tool_failure.",
        (
            Precedent(
                "The sanctions screening was called as it should be, and timed out each time.",
                replace(_GOOD, failed_calls=_SCREENING_FAILED),
                _T,
            ),
            Precedent(
                "The model asked for transactions of the date 'last month'; the tool takes calendar dates only, and "
                "refused before it looked anything up.",
                replace(_GOOD, broken_outputs=_ARGUMENTS_REJECTED),
                _F,
            ),
        ),
    ),
    Boundary(
        (_T, _H),
        "A tool that failed for good, after which the answer invents: tool_failure is first, hallucination a finding, "
        "and because of it a person takes over. No tool failed and the answer invents: hallucination.",
        (
            Precedent(
                "The transactions could not be loaded, and the draft then cites one that the case does not hold.",
                replace(_GOOD, failed_calls=_SEARCH_FAILED, cited_ids=_INVENTED),
                _T,
            ),
            Precedent(
                "All transactions were loaded, and the draft still cites one that the case does not hold.",
                replace(_GOOD, cited_ids=_INVENTED),
                _H,
            ),
        ),
    ),
    Boundary(
        (_T, _R),
        "The retriever raised: tool_failure. The retriever answered without the note, or with nothing: retrieval_miss.",
        (
            Precedent(
                "The search for notes was down, and no note was found.",
                replace(_GOOD, failed_calls=_SEARCH_FAILED, retrieved_ids=None, context_used=None),
                _T,
            ),
            Precedent(
                "The search for notes worked, and came back empty.",
                replace(_GOOD, retrieved_ids=frozenset(), context_used=None),
                _R,
            ),
        ),
    ),
    Boundary(
        (_T, _P),
        "A call failed for good: tool_failure, and what the answer then makes of the notes is a consequence. Every "
        "call went well, the note was there, and the answer passes over it: context_pollution.",
        (
            Precedent(
                "The screening was down, and the draft passes over the note that asks for it.",
                replace(_GOOD, failed_calls=_SCREENING_FAILED, context_used=False),
                _T,
            ),
            Precedent(
                "Every tool answered, the right note lay among many others, and the draft contradicts it.",
                replace(_GOOD, context_used=False),
                _P,
            ),
        ),
    ),
    Boundary(
        (_T, _M),
        "A typology chosen without what a failed call should have brought: tool_failure is first, the wrong typology a "
        "finding, and because of it a person takes over. Every call went well: typology_misjudge.",
        (
            Precedent(
                "The screening was down, and the draft calls layering what is structuring.",
                replace(_GOOD, failed_calls=_SCREENING_FAILED, typology="layering"),
                _T,
            ),
            Precedent(
                "The screening timed out once and answered at the second try, and the draft calls layering what is "
                "structuring.",
                replace(_GOOD, recovered_calls=_SCREENING_FAILED, typology="layering"),
                _M,
            ),
        ),
    ),
    Boundary(
        (_F, _H),
        "A citation field that is missing is format_violation; a citation that is present and false is hallucination; "
        "an empty list is neither, unless the schema demands an entry.",
        (
            Precedent(
                "The draft has no field for its citations at all, though the schema demands one.",
                replace(_GOOD, answer_valid=False, cited_ids=None),
                _F,
            ),
            Precedent(
                "The draft has every field, and one of its citations is not a transaction of the case.",
                replace(_GOOD, cited_ids=_INVENTED),
                _H,
            ),
        ),
    ),
    Boundary(
        (_F, _R),
        "What the model wrote, or what the search returned? An answer that breaks the schema is format_violation, and "
        "a note that is missing besides is a finding. An answer that fits, without a needed note: retrieval_miss.",
        (
            Precedent(
                "The draft is cut off in the middle of a field; the needed note had not been found either.",
                replace(_GOOD, answer_valid=False, retrieved_ids=_OTHER_NOTES, context_used=None),
                _F,
            ),
            Precedent(
                "The draft is complete, and was written without the needed note, which the search did not return.",
                replace(_GOOD, retrieved_ids=_OTHER_NOTES, context_used=None),
                _R,
            ),
        ),
    ),
    Boundary(
        (_F, _P),
        "Can the answer be read as agreed? No: format_violation, whatever the judge makes of its text. Yes, and it "
        "ignores or contradicts the note: context_pollution.",
        (
            Precedent(
                "The draft is prose where fields were asked for, and its prose passes over the note.",
                replace(_GOOD, answer_valid=False, cited_ids=None, typology=None, context_used=False),
                _F,
            ),
            Precedent(
                "The draft has every field as agreed, and says the opposite of the note that was found.",
                replace(_GOOD, context_used=False),
                _P,
            ),
        ),
    ),
    Boundary(
        (_F, _M),
        "A typology that is missing, or not on the declared list, is format_violation. One from the list that differs "
        "from the label is typology_misjudge.",
        (
            Precedent(
                "The draft's typology is 'unusual activity', which is not on the list that the schema allows.",
                replace(_GOOD, answer_valid=False, typology="unusual_activity"),
                _F,
            ),
            Precedent(
                "The draft's typology is on the list, and is not the one that the reviewer gave.",
                replace(_GOOD, typology="layering"),
                _M,
            ),
        ),
    ),
    Boundary(
        (_H, _R),
        "Evidence ids are checked against the whole case, not against what was retrieved. Not in the case: "
        "hallucination. In the case, and a needed note was not found: retrieval_miss.",
        (
            Precedent(
                "The draft cites a transaction that exists nowhere in the case, and the needed note was not found.",
                replace(_GOOD, cited_ids=_INVENTED, retrieved_ids=_OTHER_NOTES, context_used=None),
                _H,
            ),
            Precedent(
                "The draft cites a transaction of the case that no search had returned, and the needed note was not "
                "found.",
                replace(_GOOD, cited_ids=frozenset({"tx-3"}), retrieved_ids=_OTHER_NOTES, context_used=None),
                _R,
            ),
        ),
    ),
    Boundary(
        (_H, _P),
        "Does the answer cite what the case does not hold? Yes: hallucination, whatever it made of the notes. No, and "
        "it ignores or contradicts a note that was found: context_pollution.",
        (
            Precedent(
                "The draft passes over the note, and backs its own story with a transaction that does not exist.",
                replace(_GOOD, cited_ids=_INVENTED, context_used=False),
                _H,
            ),
            Precedent(
                "The draft passes over the note, and every transaction that it cites is real.",
                replace(_GOOD, context_used=False),
                _P,
            ),
        ),
    ),
    Boundary(
        (_H, _M),
        "Real transactions cited, wrong typology: typology_misjudge. An invented transaction cited, right typology: "
        "hallucination. Both: hallucination is first, the wrong typology a finding.",
        (
            Precedent(
                "The draft cites a transaction that does not exist, and its typology is right.",
                replace(_GOOD, cited_ids=_INVENTED),
                _H,
            ),
            Precedent(
                "The draft cites real transactions only, and its typology is wrong.",
                replace(_GOOD, typology="layering"),
                _M,
            ),
        ),
    ),
    Boundary(
        (_R, _P),
        "Was the needed note in the retrieved top-k? No: retrieval_miss, and context_pollution cannot be asked. "
        "Yes: only then is the judge asked.",
        (
            Precedent(
                "The needed note was not among those found, and a judge says that the draft does not follow it.",
                replace(_GOOD, retrieved_ids=_OTHER_NOTES, context_used=False),
                _R,
            ),
            Precedent(
                "The needed note was among those found, and a judge says that the draft does not follow it.",
                replace(_GOOD, context_used=False),
                _P,
            ),
        ),
    ),
    Boundary(
        (_R, _M),
        "A needed note was not found, and the typology is wrong: retrieval_miss is first, the wrong typology a "
        "finding, and because of it a person takes over. All notes were found: typology_misjudge.",
        (
            Precedent(
                "The note on structuring was not found, and the draft calls it layering.",
                replace(_GOOD, retrieved_ids=_OTHER_NOTES, context_used=None, typology="layering"),
                _R,
            ),
            Precedent(
                "The note on structuring was found and quoted, and the draft calls it layering.",
                replace(_GOOD, typology="layering"),
                _M,
            ),
        ),
    ),
    Boundary(
        (_P, _M),
        "The note was there and the answer contradicts it: context_pollution is first, and a wrong label is its "
        "consequence. The note was there and was used: typology_misjudge.",
        (
            Precedent(
                "The note says that cash split below the limit is structuring; the draft denies it and says layering.",
                replace(_GOOD, context_used=False, typology="layering"),
                _P,
            ),
            Precedent(
                "The draft quotes the note rightly, weighs it against the transactions, and still says layering.",
                replace(_GOOD, typology="layering"),
                _M,
            ),
        ),
    ),
)

BOUNDARIES: Final[Mapping[frozenset[FailureClass], Boundary]] = MappingProxyType(
    {frozenset(boundary.classes): boundary for boundary in _ALL},
)
"""All fifteen, by their two classes."""


def between(a: FailureClass, b: FailureClass) -> Boundary:
    """Pick the boundary between two of the six classes, in either order.

    Raises:
        ValueError: They are the same class, or one of them is not a failure.
    """
    try:
        return BOUNDARIES[frozenset({a, b})]
    except KeyError:
        raise ValueError(f"no boundary between {a} and {b}; give two different classes of the six") from None
