"""More spans into a store: what is new in files that grew or were rotated, the runs that it touches weighed anew."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from otel_aml.errors import ConfigurationError
from otel_aml.offline import analysis, evidence, inputs
from otel_aml.offline.analysis import ALL_BYTES, SHORT_BYTES, Analysis, Writer, contract_digest, known, replayed
from otel_aml.offline.appendable import AppendableStore
from otel_aml.offline.fingerprints import is_same, matched
from otel_aml.offline.labels import read_contract, read_labels
from otel_aml.offline.loading import Loading, read_again, read_into
from otel_aml.offline.problems import Problems, Read
from otel_aml.offline.texts import valid_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from otel_aml.offline.analysis import Given
    from otel_aml.offline.fingerprints import KnownSource

_COUNTED = ("lines", "bad_lines", "invalid_spans", "other_lines")


def append(given: Given, into: Path, *, keep_text: bool, on_bytes: Callable[[int], None] | None = None) -> Analysis:
    """Add what is new in files to a store, as if all had been read at once; make the store if there is none.

    Args:
        given: Files, labels, the contract that the store was made with.
        into: A `.duckdb` file.
        keep_text: As the store was made.
        on_bytes: Told how many bytes were read, now and then.

    Returns:
        What was read so far, all in all; its store is closed.

    Raises:
        ConfigurationError: The store was made otherwise, or cannot be added to.
        InputError: Something cannot be read.
    """
    if into.suffix != ".duckdb" or into.is_dir():
        raise ConfigurationError(f"{str(into)!r} cannot be added to: only a .duckdb file can; or give --replace")
    if "?" in str(into.resolve()):
        raise ConfigurationError(f"{str(into)!r} cannot be added to: DuckDB reads a ? in a path as the end of it")
    if inputs.STDIN in given.files:
        raise ConfigurationError("standard input cannot be known again; give files to --append")
    if not into.exists():
        return analysis.ingest(given, into, keep_text=keep_text, replace=False, on_bytes=on_bytes)
    with AppendableStore(into) as store:
        if store.making() != (contract_digest(given), keep_text):
            raise ConfigurationError(
                f"{str(into)!r} was made with another contract, or differs in --keep-text; "
                "give the same as then, or --replace"
            )
        return _Append(store, given, keep_text=keep_text).run(on_bytes)


class _Append:
    """One command's worth of appending."""

    def __init__(self, store: AppendableStore, given: Given, *, keep_text: bool) -> None:
        self._store = store
        self._given = given
        self._most_bytes = ALL_BYTES if keep_text else SHORT_BYTES
        self._problems = Problems()

    def run(self, on_bytes: Callable[[int], None] | None) -> Analysis:
        """Read, weigh, write."""
        store, earlier = self._store, self._store.known()
        files = inputs.files(self._given.files)
        found = matched(files, earlier)
        loading = Loading()
        places = {
            file: None if source is None else source.place
            for file, source in found.items()
            if source is None or not source.is_packed
        }
        read_into(store, places, loading, on_bytes=on_bytes)
        fresh = store.span_count()
        self._read_touched(found)
        held = store.keep_touched()
        store.drop_duplicates()
        duplicates = fresh + held - store.span_count()
        contract = None if self._given.contract is None else read_contract(self._given.contract)
        labels = read_labels(self._given.gold, self._given.judged, self._problems)
        others = map(evidence.read, store.untouched()) if labels else ()
        records = chain(replayed(store, contract, self._problems), others)
        Writer(store, keep_evidence=True).write(records, labels)
        renamed = _renamed(found, earlier)
        sources = _sources(found, earlier, renamed, loading)
        read = Read(files=len(sources), duplicate_spans=store.counts()["duplicate_spans"] + duplicates)
        for name in _COUNTED:
            setattr(read, name, sum(getattr(source, name) for source in sources))
        for remark in labels.remarks():
            self._problems.add(str(self._given.gold or self._given.judged), None, remark)
        stale = [
            *((source.file, source.line_number + 1) for source in found.values() if source and source.is_torn),
            *((str(path), None) for path in (self._given.gold, self._given.judged) if path is not None),
        ]
        problems = (*loading.problems.ordered(), *self._problems.ordered())
        store.commit(
            read=read, problems=problems, stale=stale, renamed=renamed, sources=sources, most_bytes=self._most_bytes
        )
        return Analysis(store, read, problems, runless=read.traces - store.run_trace_count())

    def _read_touched(self, found: Mapping[str, KnownSource | None]) -> None:
        """Read the earlier spans of touched traces once more, with their long texts."""
        now = {source.file: file for file, source in found.items() if source is not None}
        by_name = {source.file: source for source in self._store.known()}
        for name, numbers in self._store.touch():
            file = now.get(name, name)
            source = by_name.get(name)
            if source is not None and is_same(file, source):
                read_again(self._store, file, numbers)
                continue
            self._store.take_saved(name)
            self._problems.add(
                name, None, "is gone or was changed: its runs that go on elsewhere are weighed without their long texts"
            )


def _renamed(found: Mapping[str, KnownSource | None], earlier: Sequence[KnownSource]) -> dict[str, str]:
    """Say which sources have another name now: rotated ones, and those whose name another file has taken."""
    names = {file: valid_name(file) for file in found}
    renamed = {
        source.file: names[file] for file, source in found.items() if source is not None and source.file != names[file]
    }
    matched_names = {source.file for source in found.values() if source is not None}
    taken = set(names.values()) | {source.file for source in earlier}
    for source in earlier:
        if source.file in names.values() and source.file not in matched_names:
            number = next(number for number in range(1, len(taken) + 2) if f"{source.file}~{number}" not in taken)
            renamed[source.file] = f"{source.file}~{number}"
            taken.add(renamed[source.file])
    return renamed


def _sources(
    found: Mapping[str, KnownSource | None],
    earlier: Sequence[KnownSource],
    renamed: Mapping[str, str],
    loading: Loading,
) -> list[KnownSource]:
    """List all sources as they are now: those not given this time, and those that were, with what they gave so far."""
    names = {source.file for source in found.values() if source is not None}
    sources = [
        replace(source, file=renamed.get(source.file, source.file)) for source in earlier if source.file not in names
    ]
    for file, source in found.items():
        if source is not None and source.is_packed:
            sources.append(replace(source, file=valid_name(file)))
            continue
        now = known(file, loading.sources[file])
        if source is not None:
            torn = int(source.is_torn)
            now = replace(
                now,
                lines=now.lines + source.lines - torn,
                bad_lines=now.bad_lines + source.bad_lines - torn,
                invalid_spans=now.invalid_spans + source.invalid_spans,
                other_lines=now.other_lines + source.other_lines,
            )
        sources.append(now)
    return sources
