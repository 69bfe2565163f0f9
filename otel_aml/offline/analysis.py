"""From files, or a store made of them, to verdicts in tables: what every command of this wing begins with."""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline import evidence, inputs, workplaces
from otel_aml.offline.fingerprints import KnownSource, fingerprint
from otel_aml.offline.labels import Labels, read_contract, read_labels
from otel_aml.offline.loading import Source, load
from otel_aml.offline.problems import Problems, Read
from otel_aml.offline.replay import RunRecord, labelled, records
from otel_aml.offline.store import TRACE_SPANS, Store, is_saved
from otel_aml.offline.texts import valid_name
from otel_aml.offline.verdicts import Row, check_rows, failure_rows, run_row

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from otel_aml.conventions import Contract
    from otel_aml.offline.online import Weighed
    from otel_aml.offline.problems import Problem

SHORT_BYTES: Final = 512
"""Longer texts are dropped at ingest, unless they are asked for."""
ALL_BYTES: Final = 2**62
_BATCH: Final = 1_000
_DUCKDB_MAGIC: Final = b"DUCK"
_MAGIC_AT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a command was given.

    Args:
        files: Paths, patterns, folders, `-`; or one store.
        contract: A `contract.json`.
        gold: A `gold.jsonl`.
        judged: A `judged.jsonl`.
    """

    files: Sequence[str]
    contract: Path | None = None
    gold: Path | None = None
    judged: Path | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """The verdicts, in the tables of a store, and what was read for them.

    Args:
        runless: How many of the traces hold no run.
    """

    store: Store
    read: Read
    problems: tuple[Problem, ...]
    sources: Mapping[str, Source] = field(default_factory=dict[str, Source])
    runless: int = 0

    def rows(self, report: str, **values: Any) -> Iterator[dict[str, Any]]:
        """Ask one of the reports, with the values that it takes."""
        return self.store.rows(f"reports/{report}", values or None)


@contextmanager
def analysed(
    given: Given,
    *,
    keep_evidence: bool = False,
    on_bytes: Callable[[int], None] | None = None,
    on_loaded: Callable[[Store], None] | None = None,
    on_run: Callable[[RunRecord, Weighed], None] | None = None,
) -> Generator[Analysis]:
    """Read what was given and draw the verdicts.

    Args:
        given: Files or a store, labels, a contract.
        keep_evidence: Also fill the table `evidence`, for a store that is saved.
        on_bytes: Told how many bytes were read, now and then.
        on_loaded: Told when all spans are there, before their verdicts are drawn.
        on_run: Told of each run, with its labels, and of its verdict.

    Raises:
        InputError: Something cannot be read, or holds nothing that is understood.
    """
    problems = Problems()
    labels = read_labels(given.gold, given.judged, problems)
    contract = None if given.contract is None else read_contract(given.contract)
    with Store() as store:
        saved = _saved(given.files)
        if saved is None:
            found = load(store, inputs.files(given.files), on_bytes=on_bytes)
            read, earlier, sources = found.read, found.problems.ordered(), found.sources
            if on_loaded is not None:
                on_loaded(store)
            source: Iterator[RunRecord] | None = replayed(store, contract, problems, read)
        else:
            if contract is not None:
                raise ConfigurationError(
                    "a contract is applied when spans are read, and a store keeps no answers; "
                    "give it to: otel-aml ingest FILE... --contract FILE --into PATH"
                )
            anew, sources = bool(labels) or on_run is not None, {}
            opened = store.saved_duckdb(saved, anew=anew) if saved.is_file() else store.saved_parquet(saved, anew=anew)
            read, earlier = opened.read, opened.problems
            source = map(evidence.read, store.records()) if anew else None
        if source is not None:
            read.runs = Writer(store, keep_evidence=keep_evidence, on_run=on_run).write(source, labels)
        for remark in labels.remarks():
            problems.add(str(given.gold or given.judged), None, remark)
        runless = read.traces - store.run_trace_count()
        yield Analysis(store, read, (*earlier, *problems.ordered()), sources, runless)


def ingest(
    given: Given, into: Path, *, keep_text: bool, replace: bool, on_bytes: Callable[[int], None] | None = None
) -> Analysis:
    """Draw the verdicts with the full texts, and save them.

    Args:
        given: Files, labels, a contract.
        into: A `.duckdb` file, or a folder for Parquet files.
        keep_text: Also save texts longer than 512 bytes.
        replace: Write over what is there already.
        on_bytes: Told how many bytes were read, now and then.

    Returns:
        What was read; its store is closed.

    Raises:
        InputError: Something cannot be read, or `into` cannot be written.
    """
    spare_inputs(into, given)
    _spare_others(into, replace=replace)
    made = _Making(into, most_bytes=ALL_BYTES if keep_text else SHORT_BYTES)
    with ExitStack() as stack:
        begin = partial(made.begin, stack=stack)
        analysis = stack.enter_context(analysed(given, keep_evidence=True, on_bytes=on_bytes, on_loaded=begin))
        analysis.store.note(analysis.read, analysis.problems)
        analysis.store.note_making(
            [known(file, source) for file, source in analysis.sources.items() if file != inputs.STDIN],
            contract=contract_digest(given),
            keeps_text=keep_text,
        )
        made.finish(analysis.store)
    return analysis


class _Making:
    """A store that is made beside its place, and put there when it is whole."""

    def __init__(self, into: Path, *, most_bytes: int) -> None:
        self._into = into
        self._most_bytes = most_bytes
        self._made = into

    def begin(self, store: Store, stack: ExitStack) -> None:
        """Begin to save the spans, while their verdicts are drawn."""
        with _written(self._into):
            self._into.parent.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(workplaces.beside(self._into))
            self._made = folder / "store.duckdb"
            if self._into.suffix != ".duckdb":
                self._made.mkdir()
        store.begin_saving(self._made, most_bytes=self._most_bytes)

    def finish(self, store: Store) -> None:
        """Save the verdicts, and put all in its place."""
        store.finish_saving(self._made)
        with _written(self._into):
            _put(self._made, self._into, aside=self._made.with_name("replaced"))


@contextmanager
def _written(into: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{str(into)!r} cannot be written ({error.strerror}); give another path") from error


def _put(made: Path, into: Path, *, aside: Path) -> None:
    """Put a store in its place; one that was there before goes only when the new one is there."""
    if made.is_file() and not into.is_dir():
        into.with_name(f"{into.name}.wal").unlink(missing_ok=True)
        made.replace(into)
        return
    if into.exists():
        into.rename(aside)
    try:
        made.rename(into)
    except OSError:
        if aside.exists():
            aside.rename(into)
        raise


def spare_inputs(target: Path, given: Given) -> None:
    """See to it that nothing is written over what is read.

    Raises:
        ConfigurationError: It would be.
    """
    files = given.files if _saved(given.files) else inputs.files(given.files)
    beside = [str(path) for path in (given.contract, given.gold, given.judged) if path is not None]
    if os.path.realpath(target) in {os.path.realpath(file) for file in (*files, *beside) if file != inputs.STDIN}:
        raise ConfigurationError(f"{str(target)!r} is read, and is not written over; give another path")


def _spare_others(into: Path, *, replace: bool) -> None:
    """See to it that nothing is written over but a store, and that only when asked to."""
    if not os.path.lexists(into):
        return
    if not replace:
        raise ConfigurationError(
            f"{str(into)!r} exists already; give another path, --append to add to it, or --replace to write over it"
        )
    if into.is_symlink() or not is_saved(into):
        raise ConfigurationError(
            f"{str(into)!r} is not just a store that `otel-aml ingest` wrote, and nothing else is replaced; "
            "give another path"
        )


def known(file: str, source: Source) -> KnownSource:
    """Say what a store has to know of a file that was read."""
    place = source.place
    return KnownSource(
        file=valid_name(file),
        fingerprint=fingerprint(file, place.offset),
        offset_bytes=place.offset,
        line_number=place.lines,
        is_open=place.is_open,
        is_torn=place.is_torn,
        is_packed=place.is_packed,
        lines=source.lines,
        bad_lines=source.bad_lines,
        invalid_spans=source.invalid_spans,
        other_lines=source.other_lines,
    )


def contract_digest(given: Given) -> str:
    """Tell one contract from another; empty where there is none."""
    return "" if given.contract is None else hashlib.sha256(given.contract.read_bytes()).hexdigest()


def _saved(arguments: Sequence[str]) -> Path | None:
    """Say which argument is a store; None if none is."""
    stores = [argument for argument in arguments if argument != inputs.STDIN and _is_store(Path(argument))]
    if stores and len(arguments) > 1:
        raise InputError(f"{stores[0]!r} is a store and was given beside other files; give it alone")
    return Path(stores[0]) if stores else None


def _is_store(path: Path) -> bool:
    try:
        if path.is_dir():
            return (path / "evidence.parquet").is_file()
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(_MAGIC_AT + len(_DUCKDB_MAGIC))[_MAGIC_AT:] == _DUCKDB_MAGIC
    except (OSError, ValueError):
        return False


def replayed(
    store: Store, contract: Contract | None, problems: Problems, read: Read | None = None
) -> Iterator[RunRecord]:
    """Find the runs among the spans of a store; name the traces that are too large to be looked at as a whole."""
    for trace in store.traces():
        if trace.dropped:
            if read is not None:
                read.invalid_spans += trace.dropped
            problems.add(
                f"trace {trace.trace_id}", None, f"{trace.dropped} spans beyond the first {TRACE_SPANS:,} are left out"
            )
        yield from records(trace, contract)


@dataclass(slots=True)
class Writer:
    """Brings verdicts into the tables, some at a time."""

    store: Store
    keep_evidence: bool
    on_run: Callable[[RunRecord, Weighed], None] | None = None
    _waiting: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])

    def write(self, source: Iterator[RunRecord], labels: Labels) -> int:
        """Weigh each record with its label; give the number of runs."""
        count = 0
        for found in source:
            label = labels.of(found.trace_id, found.case_id)
            record = labelled(found, label)
            labels.uncompared += label.typology is not None and record.facts.typology is None
            weighed = record.weighed()
            if self.on_run is not None:
                self.on_run(record, weighed)
            self._add("runs", run_row(record, weighed))
            for row in check_rows(record, weighed):
                self._add("checks", row)
            for row in failure_rows(record, weighed):
                self._add("failures", row)
            if self.keep_evidence:
                ids = {"trace_id": record.trace_id, "span_id": record.span_id}
                self._add("evidence", {**ids, "record": evidence.written(record)})
            count += 1
            if count % _BATCH == 0:
                self._flush()
        self._flush()
        return count

    def _add(self, table: str, row: Row) -> None:
        self._waiting.setdefault(table, []).append(row)

    def _flush(self) -> None:
        for table, rows in self._waiting.items():
            self.store.insert(table, rows)
        self._waiting.clear()
