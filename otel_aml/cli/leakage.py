"""`otel-aml leakage`: which golden queries contain their answer, and what is recall without them?"""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path  # noqa: TC003 - read when the command is declared
from typing import Annotated, Final

import typer

from otel_aml.cli.common import AsJson, say
from otel_aml.evals import leakage as evals
from otel_aml.offline.render import visible

LEAKS: Final = 1
EXAMPLES: Final = """
Examples:

    otel-aml leakage golden.jsonl

    otel-aml leakage golden.jsonl --retriever my_app.search:search --k 5 --json
"""


def leakage(
    golden: Annotated[Path, typer.Argument(metavar="GOLDEN", help='Lines like {"query": ..., "doc_ids": [...]}.')],
    *,
    retriever: Annotated[
        str | None,
        typer.Option("--retriever", metavar="MODULE:FUNCTION", help="Called with a query and k, gives ids."),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many of the retrieved count.")] = evals.DEFAULT_K,
    json: AsJson = False,
) -> None:
    """Flag golden queries that contain their answer; leave with 1 where there are any."""
    found = evals.leakage(golden, top_k=k, retriever=None if retriever is None else evals.named_retriever(retriever))
    if json:
        sys.stdout.write(f"{json_module.dumps(found.plain(), indent=2)}\n")
    else:
        for name, queries in (("all", found.queries), ("without leaking", found.clean), ("leaking", found.leaking)):
            seen = evals.recall(queries)
            shown = (
                "nothing retrieved"
                if seen.recall.value is None
                else (
                    f"recall@{k} {seen.recall.value:.1%} ({seen.recall.count}/{seen.recall.of}), "
                    f"hit@{k} {seen.hits.count}/{seen.hits.of}"
                )
            )
            sys.stdout.write(f"{name:<15}  {len(queries)} queries, {shown}\n")
    sys.stdout.flush()
    for query in found.leaking:
        say(f"line {query.line} contains {', '.join(map(repr, query.leaks))}: {visible(query.query, 200)}")
    if found.leaking:
        say("high recall on queries that contain their answer is structure, not retrieval: ask in other words")
        raise typer.Exit(LEAKS)
