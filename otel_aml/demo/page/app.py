"""The page's addresses: each reads what stands, or changes it and leads back to reading (post, redirect, get)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from otel_aml.core.messages import code as code_of
from otel_aml.core.messages import user_message
from otel_aml.core.taxonomy import FAILURES, TAXONOMY, RecoveryPath, Severity
from otel_aml.demo.cases import Typology
from otel_aml.demo.page.doors import POLICY_OF_A_SCRIPT, Doors
from otel_aml.demo.page.investigation import STEPS, Step
from otel_aml.demo.page.office import WRITTEN, Correction, NotNowError
from otel_aml.demo.page.texts import LOCALES, has, text
from otel_aml.errors import AlreadyDecided, NotAllowed, QueueError, TaskHeld
from otel_aml.recover.fragment import LANGUAGES, style_sheet
from otel_aml.recover.takeover import Choice, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from otel_aml.demo.page.doors import Session
    from otel_aml.demo.page.investigation import Investigation
    from otel_aml.demo.page.office import Office
    from otel_aml.recover.takeover import QueuedTask

PEOPLE: Final = {"Dana Ito": "analyst", "Sam Okafor": "senior", "Mei Lin": "officer"}
"""Who works here, and as what. An app has users who log in; the demo has these."""
ANALYST: Final = next(iter(PEOPLE))
_SAID: Final = frozenset(
    {
        "stale", "no_evidence", "held", "already", "not_allowed", "refused", "edited_not_chosen",
        "still_not_in_records", "still_incomplete", "no_choice", "no_comment",
    }
)  # fmt: skip
"""Texts that an address may name to be shown."""
_HOUR: Final = 3_600


@dataclass(frozen=True, slots=True)
class _Row:
    """A step as the page draws it: its number, its name, and a key of the texts for its state."""

    number: int
    name: str
    state: str


def page(office: Office, *, port: int, token: str | None = None) -> Doors:
    """Put the page together.

    Args:
        office: What it shows and changes.
        port: That it is served on.
        token: Of the link; drawn unless given.
    """
    desk = _Desk(office)
    routes = [
        Route("/", desk.cases, methods=["GET"]),
        Route("/page.css", _styles, methods=["GET"]),
        Route("/icon.svg", _icon, methods=["GET"]),
        Route("/lease.js", _script, methods=["GET"]),
        Route("/cases/{case_id}", desk.case, methods=["GET"]),
        Route("/cases/{case_id}/evidence", desk.confirm, methods=["POST"]),
        Route("/cases/{case_id}/step", desk.choose, methods=["POST"]),
        Route("/cases/{case_id}/review", desk.send, methods=["POST"]),
        Route("/queue", desk.queue, methods=["GET"]),
        Route("/queue/{task_id}", desk.task, methods=["GET"]),
        Route("/queue/{task_id}/take", desk.take, methods=["POST"]),
        Route("/queue/{task_id}/renew", desk.renew, methods=["POST"]),
        Route("/queue/{task_id}/release", desk.release, methods=["POST"]),
        Route("/queue/{task_id}/decide", desk.decide, methods=["POST"]),
        Route("/person", desk.switch, methods=["POST"]),
        Route("/language", desk.speak, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: desk.refused, Exception: desk.refused})
    doors = Doors(app, port=port, person=ANALYST, token=token)
    desk.keep = doors.keep
    return doors


def _styles(request: Request) -> Response:  # noqa: ARG001 - as Starlette calls it
    return Response(style_sheet() + _file("page.css"), media_type="text/css")


def _icon(request: Request) -> Response:  # noqa: ARG001 - as Starlette calls it
    return Response(_file("icon.svg"), media_type="image/svg+xml")


def _script(request: Request) -> Response:  # noqa: ARG001 - as Starlette calls it
    return Response(_file("lease.js"), media_type="text/javascript")


def _file(name: str) -> str:
    return (resources.files("otel_aml.demo.page") / name).read_text(encoding="utf-8")


class _Desk:
    """The handlers."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self.keep: Callable[..., Session]
        self._templates = Environment(
            loader=PackageLoader("otel_aml.demo.page"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    # --- reading --------------------------------------------------------------------------------------------------

    def cases(self, request: Request) -> Response:
        """List the investigations."""
        found = [(each, self._rows(each), self._account(each)) for each in self._office.all()]
        return self._drawn(request, "cases.html", found=found)

    def case(self, request: Request) -> Response:
        """Show an investigation."""
        found = self._investigation(request)
        locale, session = _locale(request), _session(request)
        notice = ""
        if found.stopped is not None:
            notice = found.stopped.notice(found.saved, locale).to_html(
                action=f"/cases/{found.id}/step",
                fields={"csrf": session.csrf, "version": str(found.version)},
                handed_over=found.task_id is not None,
                style=False,
            )
        is_own = session.person == found.author
        return self._drawn(
            request,
            "case.html",
            found=found,
            rows=self._rows(found),
            account=self._account(found),
            transactions=self._office.cases[found.id].case.file.transactions,
            notice=Markup(notice),  # noqa: S704 - drawn by us, of closed texts
            is_own=is_own,
            returned=_returned(found),
        )

    def queue(self, request: Request) -> Response:
        """List what waits."""
        tasks = [
            (each, self._age(each.age_seconds, request))
            for each in self._office.queue.tasks(statuses=tuple(TaskStatus), limit=200)
            if each.case_id in self._office.cases
        ]
        return self._drawn(request, "queue.html", tasks=tasks)

    def task(self, request: Request) -> Response:
        """Show a task: what happened, what is safe, what to do next."""
        task = self._task(request)
        work: Mapping[str, Any] = task.state
        known = frozenset(self._office.cases[str(task.case_id)].case.file.tx_ids)
        happened, code, is_critical = "", "", False
        if task.failure_class is not None:
            is_critical = task.failure_class in FAILURES and TAXONOMY[task.failure_class].severity is Severity.CRITICAL
            code = code_of(task.failure_class, RecoveryPath.HUMAN_TAKEOVER)
            happened = user_message(task.failure_class, RecoveryPath.HUMAN_TAKEOVER, _locale(request))
        is_holder = task.status is TaskStatus.CLAIMED and task.claimed_by == _session(request).person
        answer = self._drawn(
            request,
            "task.html",
            task=task,
            happened=happened,
            is_critical=is_critical,
            code=code,
            reference=(task.trace_id or "")[:8],
            work=work,
            known=known,
            missing=[each for each in _cited(work) if each not in known],
            age=self._age(task.age_seconds, request),
            is_holder=is_holder,
            lease_seconds=_seconds_to(task.lease_ends_at),
            is_own=task.author == _session(request).person,
            typologies=tuple(map(str, Typology)),
        )
        if is_holder:
            answer.headers["Content-Security-Policy"] = POLICY_OF_A_SCRIPT
        return answer

    # --- changing -------------------------------------------------------------------------------------------------

    def confirm(self, request: Request) -> Response:
        """Confirm evidence."""
        form = _form(request)
        change = partial(self._office.confirm, confirmed=form.get("confirmed", []), edits=_edits(form))
        return self._changed(request, change)

    def choose(self, request: Request) -> Response:
        """Do what was chosen about a failed step."""
        return self._changed(request, partial(self._office.choose, action=_one(request, "action")))

    def send(self, request: Request) -> Response:
        """Send a draft to a colleague."""
        return self._changed(request, partial(self._office.send, edits=_edits(_form(request))))

    def take(self, request: Request) -> Response:
        """Take a task."""
        person = _session(request).person
        return self._asked(request, lambda task_id: self._office.queue.claim(person, task_id=task_id))

    def renew(self, request: Request) -> Response:
        """Hold a task longer, as the page asks while somebody works on it; says for how many seconds."""
        try:
            until = self._office.queue.renew(self._task(request).id, _session(request).person)
        except QueueError:
            return JSONResponse({}, status_code=409)
        return JSONResponse({"seconds": _seconds_to(until)})

    def release(self, request: Request) -> Response:
        """Give a task back."""
        person = _session(request).person
        return self._asked(request, lambda task_id: self._office.queue.release(task_id, person))

    def decide(self, request: Request) -> Response:
        """Record a decision, and let the investigation go on."""
        form, person = _form(request), _session(request).person
        choice = next((each for each in Choice if each == _one(request, "choice")), None)
        correction = None
        if "typology" in form:
            correction = Correction(
                fields=_edits(form), typology=_one(request, "typology"), cited=tuple(form.get("cited", ()))
            )

        def decided(task_id: str) -> object:
            if choice is None:
                raise NotNowError("no_choice")
            comment = _one(request, "comment").strip()
            if choice is Choice.RETURNED and not comment:
                raise NotNowError("no_comment")
            return self._office.decide(task_id, person, choice, comment, correction)

        return self._asked(request, decided)

    def switch(self, request: Request) -> Response:
        """Work as another person, as an app's log-in would say."""
        person = _one(request, "person")
        if person in PEOPLE:
            self.keep(_session(request), person=person)
        return _to(_back(request))

    def speak(self, request: Request) -> Response:
        """Change the language."""
        self.keep(_session(request), locale=next(each for each in LOCALES if each != _locale(request)))
        return _to(_back(request))

    def refused(self, request: Request, error: Exception) -> Response:
        """Say in a closed text that there is no such page, or that something went wrong."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        key = "not_found" if status in {404, 405} else "broken"
        return self._drawn(request, "refused.html", status=status, key=key)

    # --- shared ---------------------------------------------------------------------------------------------------

    def _changed(self, request: Request, change: Callable[..., object]) -> Response:
        """Change an investigation, and lead back to it."""
        case_id = self._investigation(request).id
        given = _one(request, "version")
        version = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else -1  # noqa: PLR2004
        try:
            change(case_id, _session(request).person, version)
        except NotNowError as no:
            return _to(f"/cases/{case_id}", str(no))
        return _to(f"/cases/{case_id}")

    def _asked(self, request: Request, ask: Callable[[str], object]) -> Response:
        """Ask something of the queue, and lead back to the task."""
        task = self._task(request)
        where = f"/queue/{quote(task.id, safe='')}"
        try:
            ask(task.id)
        except NotNowError as no:
            if str(no) in _SAID and "typology" in _form(request):
                return self._again(request, str(no))
            return _to(where, str(no))
        except QueueError as no:
            return _to(where, _refusal(no))
        return _to(where)

    def _again(self, request: Request, said: str) -> Response:
        """Draw the form again as it was sent, so that nothing that was written is lost."""
        form = _form(request)
        request.state.sent = {
            "fields": _edits(form),
            "typology": _one(request, "typology"),
            "cited": form.get("cited", []),
            "choice": _one(request, "choice"),
            "comment": _one(request, "comment"),
            "said": said,
        }
        answer = self.task(request)
        answer.status_code = 422
        return answer

    def _investigation(self, request: Request) -> Investigation:
        try:
            return self._office.get(request.path_params["case_id"])
        except KeyError:
            raise HTTPException(404) from None

    def _task(self, request: Request) -> QueuedTask:
        try:
            task = self._office.queue.show(request.path_params["task_id"])
        except QueueError:
            raise HTTPException(404) from None
        if task.case_id not in self._office.cases:
            raise HTTPException(404)
        return task

    def _account(self, found: Investigation) -> str:
        return self._office.cases[found.id].case.file.subject

    def _rows(self, found: Investigation) -> list[_Row]:
        """Give the four steps with their states."""
        return [_Row(number, str(step), self._state(found, step)) for number, step in enumerate(STEPS, start=1)]

    def _state(self, found: Investigation, step: Step) -> str:
        if step in found.done:
            return "state_approved" if step is Step.REVIEW else "state_done"
        if found.closed is Choice.REJECT:
            return "state_rejected" if step is found.step else "state_todo"
        if found.stopped is not None and step is found.stopped.step:
            return self._stopped_state(found)
        if step is not Step.REVIEW:
            return "state_now" if step is found.step else "state_todo"
        return self._review_state(found)

    def _stopped_state(self, found: Investigation) -> str:
        if found.task_id is not None:
            return "state_colleague"
        if _returned(found) is not None:
            return "state_returned"
        is_red = found.stopped is not None and found.stopped.notice(found.saved, "en").tone == "red"
        return "state_held" if is_red else "state_failed"

    def _review_state(self, found: Investigation) -> str:
        if found.task_id is not None:
            return f"state_{self._office.queue.show(found.task_id).review}"
        if found.step is not Step.REVIEW:
            return "state_todo"
        return "state_returned" if _returned(found) is not None else "state_now"

    def _age(self, seconds: float, request: Request) -> str:
        if seconds < _HOUR:
            return text("minutes", _locale(request), n=int(seconds // 60))
        return text("hours", _locale(request), n=int(seconds // _HOUR))

    def _drawn(self, request: Request, name: str, *, status: int = 200, **values: Any) -> Response:
        locale, session = _locale(request), _session(request)
        said = request.query_params.get("said", "")
        waiting = self._office.queue.stats()["open"]
        html = self._templates.get_template(name).render(
            t=partial(text, locale=locale),
            has=has,
            locale=locale,
            lang=LANGUAGES[locale],
            session=session,
            people=PEOPLE,
            path=request.url.path if request.method == "GET" else "/",
            said=said if said in _SAID else "",
            sent=getattr(request.state, "sent", None),
            waiting=waiting,
            written=WRITTEN,
            **values,
        )
        return HTMLResponse(html, status_code=status)


def _returned(found: Investigation) -> Any:
    """Give the last decision where it sent the work back; None where it did not, or work has gone on since."""
    last = found.decisions[-1] if found.decisions else None
    return last if last is not None and last.choice is Choice.RETURNED and last.step is found.step else None


def _seconds_to(moment: datetime | None) -> int:
    """Count down to a moment; 0 once it has passed, or where there is none."""
    return 0 if moment is None else max(0, round((moment - datetime.now(UTC)).total_seconds()))


def _session(request: Request) -> Session:
    session: Session = request.state.session
    return session


def _locale(request: Request) -> str:
    chosen = _session(request).locale
    if chosen is not None:
        return chosen
    return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"


def _form(request: Request) -> Mapping[str, Sequence[str]]:
    form: Mapping[str, Sequence[str]] = request.state.form
    return form


def _one(request: Request, name: str) -> str:
    found = _form(request).get(name) or ("",)
    return found[0]


def _edits(form: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: form[name][0] for name in WRITTEN if form.get(name)}


def _cited(work: Mapping[str, Any]) -> Sequence[str]:
    """List what the draft of a task cites, if it has one."""
    draft: Mapping[str, Any] = work.get("draft") or {}
    cited: Sequence[str] = draft.get("cited_tx_ids", ())
    return cited


def _refusal(no: QueueError) -> str:
    known = ((TaskHeld, "held"), (AlreadyDecided, "already"), (NotAllowed, "not_allowed"))
    return next((said for kind, said in known if isinstance(no, kind)), "refused")


def _back(request: Request) -> str:
    """Give the page's own path that a form came from; never another place."""
    path = _one(request, "back")
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() else "/"


def _to(path: str, said: str = "") -> Response:
    return RedirectResponse(f"{path}?said={said}" if said in _SAID else path, status_code=303)
