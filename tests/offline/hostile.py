"""Texts that a page must show as texts, in every place where an exporter can put one; and a harmless twin."""

from exports import case, line, pairs, span

TEXTS = (
    "<script>document.title = 'ran'</script>",
    "</script><script>document.title = 'ran'</script>",
    "</style><script>document.title = 'ran'</script>",
    "</title><script>document.title = 'ran'</script>",
    "<img src=x onerror=\"document.title = 'ran'\">",
    "\"><svg onload=\"document.title = 'ran'\">",
    "' onmouseover='document.title = 1' x='",
    "<iframe srcdoc=\"<script>top.document.title = 'ran'</script>\"></iframe>",
    "<style>@import 'http://localhost/x'; * { display: none }</style>",
    "<link rel=stylesheet href=http://localhost/x>",
    "<meta http-equiv=refresh content=0;url=http://localhost/>",
    "<base href=http://localhost/>",
    "<form action=http://localhost/><button>Go</button></form>",
    "<a href=javascript:alert(1)>here</a>",
    "<math><mtext></mtext><mglyph><style><img src=x></style></mglyph></math>",
    "javascript:document.title='ran'",
    "{{ 7 * 7 }}{% raw %}",
    "${7*7}#{7*7}<%= 7*7 %>",
    "<!-- ", "-->", "]]>", "&lt;b&gt;&#60;i&#62;",
    "\u2028document.title='ran'\u2029",
    "\u202egnp.exe\u2066\u200b",
    "a\x00b\x1b[2J\r\n<b>",
    "\ufeff\u0000<b",
    "漢字" * 40,
    "W" * 300,
)  # fmt: skip


def runs(texts, *, count=6):
    """Give a few runs; each fails at a tool of each name, and holds one of the texts wherever else a text can be."""
    for number, text in zip(range(1, count + 1), texts, strict=False):
        said = {"exception.type": text, "exception.message": text, "exception.stacktrace": text}
        event = {"name": text, "timeUnixNano": "1790000000002000000", "attributes": pairs(said)}
        root = {**case(number, cited=(text,)), "gen_ai.agent.name": text, "aml.case.id": text, "user.id": text}
        tools = [
            span(number, 3 + place, 1, name, "TOOL", (place, place + 1), _tool(name), **_failed(name, event))
            for place, name in enumerate(texts)
        ]
        yield line(
            *tools,
            span(number, 2, 1, text, "RETRIEVER", (2, 4), {"retrieval.documents.0.document.id": text}),
            span(number, 1, None, text, "AGENT", (0, 50), root),
            resource={"service.name": text, "host.name": text},
            scope=text,
        )


def _tool(name):
    return {"error.type": name, "gen_ai.tool.name": name, "aml.step.id": name, name: "v"}


def _failed(text, event):
    return {"status": {"code": 2, "message": text}, "events": [event | {"name": "exception"}]}


def twin(texts):
    """Give the same runs with harmless texts."""
    return runs([f"harmless-{number}" for number, _ in enumerate(texts)])
