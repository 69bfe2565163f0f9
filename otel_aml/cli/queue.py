"""`otel-aml queue`: what waits for a person, for people without a page. Each decision says who and when."""

from __future__ import annotations

import getpass
import json as json_module
import os
import re
import sys
from contextlib import contextmanager
from datetime import UTC, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from otel_aml.cli.common import AsJson, say
from otel_aml.errors import InputError, InvalidTask, NotAllowed, UnknownTask
from otel_aml.offline.render import visible
from otel_aml.recover.takeover import RETENTION, Choice, Head, HumanLabel, TakeoverQueue, TaskKind, TaskStatus
from otel_aml.recover.takeover.texts import same_person

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from otel_aml.recover.takeover import QueuedTask, Resumption, TaskSummary

WHERE: Final = "takeover.db"
_LINE: Final = 400
_STEPS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))

app = typer.Typer(
    help="What waits for a person: look, take, decide; and the proof of it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""
Examples:

    otel-aml queue list

    otel-aml queue claim

    otel-aml queue decide 4f1c retry --comment "the service is back"

    otel-aml queue export --as gold > gold.jsonl
""",
)


class ExportForm(StrEnum):
    """What `export` writes."""

    GOLD = "gold"
    JUDGED = "judged"
    DECISIONS = "decisions"


class ContextUse(StrEnum):
    """What a person says of how an answer used its notes."""

    USED = "used"
    IGNORED = "ignored"


Where = Annotated[
    str,
    typer.Option(
        "--queue",
        metavar="FILE|URL",
        envvar="OTEL_AML_QUEUE",
        help="The queue: a file, or postgresql://... (better in the variable: a command line can be read by others).",
    ),
]
TaskId = Annotated[str, typer.Argument(metavar="ID", help="The task's id or how it begins.", show_default=False)]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who you are to the app; your login is recorded beside it."),
]
Kind = Annotated[TaskKind | None, typer.Option("--kind", help="Only this kind.")]


@app.command(name="list")
def list_tasks(  # noqa: PLR0913 - the options of the command
    *,
    queue: Where = WHERE,
    status: Annotated[
        list[TaskStatus] | None, typer.Option("--status", help="Only this status; again for more.")
    ] = None,
    kind: Kind = None,
    case: Annotated[str | None, typer.Option("--case", metavar="ID", help="Only this case.")] = None,
    rows: Annotated[int, typer.Option("--rows", min=1, help="So many at most.")] = 100,
    json: AsJson = False,
) -> None:
    """List what waits, the most urgent first."""
    statuses = tuple(status) if status else (TaskStatus.WAITING, TaskStatus.CLAIMED)
    with _opened(queue) as opened:
        tasks = opened.tasks(statuses=statuses, kind=kind, case_id=case, limit=rows)
        counts = opened.stats()
    if json:
        _print({"counts": counts, "tasks": [task.plain() for task in tasks]})
        return
    _write(_row(task) for task in tasks)
    say(_counted(counts))


@app.command()
def show(  # noqa: PLR0913 - the options of the command
    task_id: TaskId,
    *,
    queue: Where = WHERE,
    state: Annotated[bool, typer.Option("--state", help="Print the state alone: the JSON as it was given.")] = False,
    internal: Annotated[
        bool, typer.Option("--internal", help="Also the technical detail, for operators; that you saw it is recorded.")
    ] = False,
    by: By = None,
    json: AsJson = False,
) -> None:
    """Show one task: what is done, what is left, what can be decided."""
    with _opened(queue) as opened:
        task = opened.show(_whole(opened, task_id))
        detail = opened.technical_detail(task.id, by=by or _login(), via=_via()) if internal else None
    if state:
        if sys.stdout.isatty():
            sys.stdout.write(f"{_for_terminal(task.state_json)}\n")
        else:
            sys.stdout.buffer.write(task.state_json.encode())
    elif json:
        more = {} if detail is None else {"technical_detail": detail}
        _print(task.plain() | {"state_json": task.state_json, "response_schema": task.response_schema} | more)
    else:
        _write(_lines(task))
        if detail is not None:
            _write(f"{'detail':<10}{line}" for line in detail.splitlines() or ["there is none"])


@app.command()
def claim(  # noqa: PLR0913 - the options of the command
    task_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The task; the most urgent without.", show_default=False)
    ] = None,
    *,
    queue: Where = WHERE,
    kind: Kind = None,
    minutes: Annotated[float, typer.Option("--minutes", min=0.1, max=100_000, help="For how long.")] = 15,
    by: By = None,
    json: AsJson = False,
) -> None:
    """Take a task, so that nobody else does; again to hold it longer. Exit code 1: nothing waits."""
    with _opened(queue) as opened:
        whole = None if task_id is None else _whole(opened, task_id)
        task = opened.claim(by or _login(), task_id=whole, kind=kind, lease=timedelta(minutes=minutes))
    if task is None:
        say("nothing waits that you could take")
        raise typer.Exit(1)
    if json:
        _print(task.plain())
    else:
        _write(_lines(task))


@app.command()
def release(task_id: TaskId, *, queue: Where = WHERE, by: By = None) -> None:
    """Give a task back undecided."""
    with _opened(queue) as opened:
        whole = _whole(opened, task_id)
        if not opened.release(whole, by or _login()):
            say(f"{by or _login()} does not hold the task {whole}")
            raise typer.Exit(1)
    _write([f"released  {whole}"])


@app.command()
def decide(  # noqa: PLR0913 - the options of the command
    task_id: TaskId,
    choice: Annotated[Choice, typer.Argument(help="What you decide.", show_default=False)],
    *,
    queue: Where = WHERE,
    comment: Annotated[str, typer.Option("--comment", help="Why; `returned` says what to change.")] = "",
    edited: Annotated[
        str | None, typer.Option("--edited", metavar="FILE", help="Of an edit, the corrected work: JSON, - for stdin.")
    ] = None,
    answer: Annotated[
        list[str] | None, typer.Option("--answer", metavar="NAME=VALUE", help="What the task asks for; again for more.")
    ] = None,
    typology: Annotated[str | None, typer.Option("--typology", help="Label: the right typology.")] = None,
    doc_id: Annotated[list[str] | None, typer.Option("--doc-id", help="Label: a note that the case needs.")] = None,
    evidence_id: Annotated[list[str] | None, typer.Option("--evidence-id", help="Label: an id of the case.")] = None,
    context: Annotated[ContextUse | None, typer.Option("--context", help="Label: how the notes were used.")] = None,
    by: By = None,
    json: AsJson = False,
) -> None:
    """Decide a task, once and for good."""
    label = HumanLabel(
        typology=typology,
        doc_ids=tuple(doc_id) if doc_id else None,
        evidence_ids=tuple(evidence_id) if evidence_id else None,
        context_used=None if context is None else context is ContextUse.USED,
    )
    work = None if edited is None else _read(edited)
    with _opened(queue) as opened:
        task = opened.show(_whole(opened, task_id))
        _check_login(task)
        after = opened.decide(
            task.id,
            choice,
            by=by or _login(),
            via=_via(),
            comment=comment,
            edited=work,
            response=_answers(answer or [], task.response_schema),
            label=label,
        )
    if json:
        _print(_after(after))
    else:
        decision = after.decision
        onward = f"goes on at {after.plan.enter_at}" if after.goes_on else "goes no further"
        _write([f"decided   {after.task_id}: {decision.choice} by {decision.by} at {_at(decision.at)}; {onward}"])


@app.command()
def export(
    *,
    queue: Where = WHERE,
    form: Annotated[
        ExportForm,
        typer.Option("--as", help="Lines for --gold, lines for --judge, or every decision with who and when."),
    ] = ExportForm.GOLD,
) -> None:
    """Write decisions as labels, a JSON object a line."""
    count = written = 0
    with _opened(queue) as opened:
        for each in opened.labels():
            lines = {ExportForm.GOLD: each.gold_line, ExportForm.JUDGED: each.judged_line}
            line = lines.get(form, each.plain)()
            count += 1
            if line is not None:
                written += 1
                sys.stdout.write(f"{json_module.dumps(line)}\n")
    sys.stdout.flush()
    others = "" if written == count else "; the others say nothing of it, or name no run and no case"
    say(f"decisions: {count}, lines: {written}{others}")


@app.command()
def verify(
    *,
    queue: Where = WHERE,
    head: Annotated[
        str | None, typer.Option("--head", metavar="N:HASH", help="A head from earlier that you kept elsewhere.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Check the chain, and all tasks and decisions against it. Exit code 1: something is wrong."""
    kept = None if head is None else Head.of(head)
    with _opened(queue) as opened:
        found = opened.verify(kept=kept)
    if json:
        _print(found.plain())
    else:
        _write([f"{found.links} links and {found.tasks} tasks were read", f"head      {found.head}"])
        if found.broken is not None:
            _write([f"BROKEN    link {found.broken.seq}: {found.broken.reason}"])
        _write(f"FAULT     {fault}" for fault in found.faults)
        if found.is_whole:
            _write(["whole     keep the head elsewhere: only it shows later that the end was cut off"])
    if not found.is_whole:
        raise typer.Exit(1)


@app.command()
def expire(*, queue: Where = WHERE, json: AsJson = False) -> None:
    """Escalate what has passed its moment since last asked; nothing is closed. For a timer to call."""
    with _opened(queue) as opened:
        found = opened.expire()
    if json:
        _print({"escalated": [task.plain() for task in found]})
    else:
        _write(_row(task) for task in found)
        say(f"newly escalated: {len(found)}")


@app.command()
def hold(  # noqa: PLR0913 - the options of the command
    *,
    queue: Where = WHERE,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="Hold one task.")] = None,
    case: Annotated[
        str | None, typer.Option("--case", metavar="ID", help="Hold a case, also what comes later.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why.")] = "",
    end: Annotated[str | None, typer.Option("--end", metavar="HOLD", help="End this hold.")] = None,
    by: By = None,
    json: AsJson = False,
) -> None:
    """Place a legal hold, end one, or without an option list them."""
    who = by or _login()
    with _opened(queue) as opened:
        if end is not None:
            opened.release_hold(end, by=who)
        elif task is not None or case is not None:
            whole = None if task is None else _whole(opened, task)
            opened.hold(by=who, task_id=whole, case_id=case, reason=reason)
        holds = opened.holds()
    if json:
        _print({"holds": holds})
    else:
        _write(_hold(each) for each in holds)
        say(f"legal holds: {len(holds)}")


@app.command()
def purge(
    *,
    queue: Where = WHERE,
    days: Annotated[int, typer.Option("--days", min=1, max=1_000_000, help="Kept so long after the decision.")] = (
        RETENTION.days
    ),
    by: By = None,
) -> None:
    """Delete what was kept for its time and is under no hold; each deletion is recorded."""
    with _opened(queue) as opened:
        count = opened.purge(by=by or _login(), retention=timedelta(days=days))
    say(f"deleted: {count}, decided more than {days} days ago and under no hold")


@app.command()
def stats(*, queue: Where = WHERE) -> None:
    """Print the numbers that metrics observe, as JSON."""
    with _opened(queue) as opened:
        _print(opened.stats())


# --- who, which ------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(where: str) -> Generator[TakeoverQueue]:
    """Open a queue that is there: a misspelt name must not look like an empty one."""
    with TakeoverQueue(where, create=False) as opened:
        yield opened


def _whole(opened: TakeoverQueue, beginning: str) -> str:
    """Find the one id that begins so."""
    found = opened.matching(beginning, limit=4)
    if beginning in found or len(found) == 1:
        return beginning if beginning in found else found[0]
    if found:
        raise InvalidTask(f"several tasks begin with {beginning}: {', '.join(found[:3])}...; give more of the id")
    raise UnknownTask(f"no task begins with {beginning!r}; `otel-aml queue list` lists them")


def _login() -> str:
    """Say who runs this, by the system's word and not by a variable that anyone can set."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except ImportError:
        return getpass.getuser()
    except KeyError:
        return f"uid {os.getuid()}"


def _via() -> str:
    return f"cli: {_login()}"


def _check_login(task: QueuedTask) -> None:
    """See that nobody decides their own work under another name."""
    if task.author is not None and same_person(task.author) == same_person(_login()):
        raise NotAllowed(f"{_login()} made what the task {task.id} asks about; another person must decide it")


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{name!r} cannot be read ({error.strerror}); give a JSON file") from error


def _answers(given: list[str], schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Read `name=value` by the type that the task asks for."""
    if schema is None and not given:
        return None
    properties: Mapping[str, Any] = (schema or {}).get("properties", {})
    answers: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise InvalidTask(f"--answer {each!r} has no value; give name=value")
        answers[name] = value if properties.get(name, {}).get("type") == "string" else _value(value)
    return answers


def _value(text: str) -> Any:
    try:
        return json_module.loads(text)
    except ValueError:
        return text


# --- what is printed: nothing from outside moves the cursor ----------------------------------------------------------


def _print(answer: Mapping[str, Any]) -> None:
    sys.stdout.write(f"{json_module.dumps(answer, indent=2)}\n")


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{visible(line, _LINE)}\n")


def _for_terminal(document: str) -> str:
    """Spell what is unprintable as JSON does; between its texts JSON has nothing but spaces and line ends."""
    return re.sub(r"[^\x20-\x7e\n\r\t]", _spelt, document)


def _spelt(found: re.Match[str]) -> str:
    letter = found[0]
    return letter if visible(letter) == letter else json_module.dumps(letter)[1:-1]


def _row(task: TaskSummary) -> str:
    words = (
        f"{visible(task.id, 32):<32}",
        f"{task.kind:<12}",
        f"{task.status:<7}",
        f"{task.failure_class or '-':<17}",
        f"{_lasted(task.age_seconds):>7}",
        f"{_when(task):<14}",
        f"{visible(task.claimed_by or '-', 16):<16}",
        visible(task.case_id or "-", 40),
    )
    return "  ".join(words)


def _when(task: TaskSummary) -> str:
    if task.is_overdue:
        return f"OVERDUE ({task.escalation})"
    soon = min((each for each in (task.due_at, task.expires_at) if each is not None), default=None)
    if soon is None:
        return "-"
    now = task.created_at + timedelta(seconds=task.age_seconds)  # by the queue's own clock
    is_near = soon - now < timedelta(days=1)
    return f"by {soon.astimezone(UTC):%H:%M} UTC" if is_near else f"by {soon.astimezone(UTC):%Y-%m-%d}"


def _lines(task: QueuedTask) -> Iterator[str]:
    held = f", held by {task.claimed_by} until {_at(task.lease_ends_at)}" if task.claimed_by else ""
    yield f"task      {task.id}"
    yield f"kind      {task.kind}, {task.status}{held}, {_lasted(task.age_seconds)} old"
    for name, value in (
        ("case", task.case_id),
        ("trace", task.trace_id),
        ("failure", task.failure_class),
        ("step", task.step_id),
        ("told", task.user_message),
        ("author", task.author),
        ("typology", task.typology),
        ("follows", task.follows),
        ("expires", _at(task.expires_at)),
        ("due", _at(task.due_at)),
        ("done", ", ".join(task.plan.done)),
        ("left", ", ".join(task.plan.left)),
        ("enter at", task.plan.enter_at),
        ("choices", ", ".join(task.choices)),
    ):
        if value:
            yield f"{name:<10}{value}"
    if task.is_overdue:
        yield f"OVERDUE   escalated {task.escalation} times"
    schema = task.response_schema or {}
    for name, asked in schema.get("properties", {}).items():
        need = ", needed" if name in schema.get("required", ()) else ""
        among = f", one of {', '.join(map(str, asked['enum']))}" if "enum" in asked else ""
        yield f"answer    {name}: {asked['type']}{among}{need}"
    yield f"state     {task.state_bytes:,} bytes; --state prints it"
    if task.has_technical_detail:
        yield "detail    for operators; --internal prints it and records that you saw it"
    if task.on_hold:
        yield "hold      a legal hold keeps it"
    if task.decision is not None:
        said = f": {task.decision.comment}" if task.decision.comment else ""
        yield f"decided   {task.decision.choice} by {task.decision.by} at {_at(task.decision.at)}{said}"


def _after(after: Resumption) -> dict[str, Any]:
    return {
        "task_id": after.task_id,
        "decision": after.decision.plain(),
        "plan": after.plan.plain(),
        "goes_on": after.goes_on,
    }


def _hold(found: Mapping[str, Any]) -> str:
    on = f"case {found['case_id']}" if found["case_id"] is not None else f"task {found['task_id']}"
    why = f": {found['reason']}" if found["reason"] else ""
    return f"{found['id']}  {on}, by {found['placed_by']} at {found['at']}{why}"


def _counted(counts: Mapping[str, Any]) -> str:
    named = {name: counts[name] for name in ("waiting", "claimed", "decided", "overdue")}
    oldest = f"; the oldest waits {_lasted(counts['oldest_age_seconds'])}" if counts["open"] else ""
    return ", ".join(f"{name} {count}" for name, count in named.items()) + oldest


def _at(moment: Any) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def _lasted(seconds: float) -> str:
    for length, unit in _STEPS:
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"
