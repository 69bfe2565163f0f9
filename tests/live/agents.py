"""Agent runs in a few lines, with the plain OpenTelemetry API."""

import contextlib

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "copilot"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_transactions"}
MODEL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small"}
RETRIEVER = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "notes"}


def call(tracer, error=None, name="get_transactions", **more):
    """A tool call that the agent survives, whatever it ends in."""
    attributes = TOOL | {"gen_ai.tool.name": name} | more
    with contextlib.suppress(Exception), tracer.start_as_current_span(f"execute_tool {name}", attributes=attributes):
        if error is not None:
            raise error


def run(tracer, error=None, name="investigate", **more):
    """An agent run with one tool call."""
    with tracer.start_as_current_span(name, attributes=AGENT | more) as span:
        call(tracer, error)
    return span
