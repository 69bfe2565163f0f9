"""`otel-aml classify`: the verdict of each run."""

from __future__ import annotations

import sys
from typing import Final

from otel_aml.cli.common import (
    AsJson,
    ContractFile,
    Files,
    GoldFile,
    JudgedFile,
    Strict,
    check_runs,
    check_strictly,
    reading,
    say_what_was_read,
)
from otel_aml.offline import render, reports
from otel_aml.offline.analysis import Given, analysed

EXAMPLES: Final = """
Examples:

    otel-aml classify traces.jsonl

    otel-aml classify --json traces/ --gold gold.jsonl --judge judged.jsonl

    zcat old/*.gz | otel-aml classify -
"""


def classify(  # noqa: PLR0913 - the options of the command
    files: Files,
    *,
    contract: ContractFile = None,
    gold: GoldFile = None,
    judge: JudgedFile = None,
    json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Name the first failure of each run."""
    given = Given(files=files, contract=contract, gold=gold, judged=judge)
    with reading() as on_bytes, analysed(given, on_bytes=on_bytes) as analysis:
        if json:
            render.classify_json(analysis, reports.runs(analysis), sys.stdout)
        else:
            render.classify_text(reports.runs(analysis), sys.stdout)
            sys.stdout.flush()
            say_what_was_read(analysis)
    check_runs(analysis)
    check_strictly(analysis, strict=strict)
