"""Random errors that hold a secret in every place where an error can hold one, and all that a person gets to see."""

import json
import random
import re

from pydantic import BaseModel, TypeAdapter, ValidationError

from otel_aml.core.recovery import plan_recovery
from otel_aml.core.taxonomy import FAILURES
from otel_aml.recover.classifying import classify_error
from otel_aml.recover.errors import RecoveryPlanModel
from otel_aml.recover.notice import user_notice
from otel_aml.recover.steps import step_error

KINDS = (
    TimeoutError, ConnectionError, ValueError, RuntimeError, KeyError, OSError, PermissionError, Exception, LookupError,
    json.JSONDecodeError, ValidationError,
)  # fmt: skip
CANARY = re.compile(r"CNRY\d{9}")


class Draft(BaseModel):
    typology: str
    score: int


class Client(Exception):
    """An error with a response, a body and headers, as HTTP clients raise."""

    def __init__(self, words):
        super().__init__(words)
        self.status_code, self.body, self.code = 503, {"error": words}, words
        self.headers = {"Retry-After": "3", "X-Case": words, words: words}
        self.response = self


class Canaries:
    """Makes errors, and remembers their secrets."""

    def __init__(self, seed):
        self.dice = random.Random(seed)

    def word(self):
        return f"CNRY{self.dice.randrange(10**9):09d}"

    def error(self):
        """Give an error, and the words that must not be seen."""
        words = [self.word() for _ in range(3)]
        error = self._one(words[0])
        shape = self.dice.randrange(6)
        if shape == 0:
            error.__cause__ = self._one(words[1])
        elif shape == 1:
            error = ExceptionGroup(words[1], [error, self._one(words[2])])
        elif shape == 2:
            error.add_note(words[1])
            error.secret = words[2]
        elif shape == 3:
            try:
                exec(f"def {words[1]}(error): raise error\n{words[1]}(error)", {"error": error})
            except Exception as raised:
                error = raised
        return error, set(words)

    def _one(self, word):
        kind = self.dice.choice((*KINDS, Client, None))
        if kind is None:
            return type(word, (Exception,), {"__module__": word})(f"status {self.dice.choice((404, 503))} {word}")
        if kind is json.JSONDecodeError:
            return kind(word, f"{{{word}", 1)
        if kind is ValidationError:
            try:
                if self.dice.random() < 0.5:
                    Draft.model_validate({"typology": 1, "score": word, word: word})
                TypeAdapter(dict[str, int]).validate_python({word: word})
            except ValidationError as error:
                return error
        return kind(word)

    def seen(self, texts):
        """Find the canaries in texts."""
        return {word for text in texts for word in CANARY.findall(text)}


def surfaces(raw, dice):
    """All that leaves for a person, in every form that it has."""
    locale = dice.choice(("en", "zh", "zh-CN", "fr"))
    step_id, failure_class = "assess", dice.choice((None, None, *FAILURES))
    make = dice.choice((classify_error, _noted))
    error = make(raw, step_id, attempt=dice.randrange(5), failure_class=failure_class, locale=locale)
    plan = plan_recovery(error, idempotent=dice.choice((True, False, None)))
    notice = user_notice(error, plan, locale=locale, saved={"confirmed_evidence": dice.randrange(9)})
    yield error.user_message
    yield repr(notice)
    yield notice.model_dump_json()
    yield json.dumps(notice.to_problem(), ensure_ascii=False)
    yield json.dumps(notice.to_problem(type_base="https://example.com/"))
    yield RecoveryPlanModel.of(plan).model_copy(update={"repair_text": ""}).model_dump_json()


def _noted(raw, step_id, **more):
    return step_error(raw, step_id=step_id, **more)
