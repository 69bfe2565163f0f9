"""After the fact: from files to verdicts and reports. For notebooks and scripts: `otel_aml.offline.report()`."""

from otel_aml.offline.notebook import report

__all__ = ["report"]
