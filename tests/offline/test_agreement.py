"""What is said while a run is live and what its exported spans say afterwards are the same."""

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.json.file", reason="the file exporter needs SDK 1.43")

from tests import agreement


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_live_and_replay_agree_run_by_run(tmp_path, seed):
    """Class, findings, unchecked and first span, from lines that are stripped, shuffled and partly doubled."""
    live = agreement.live(tmp_path, seed, runs=500)
    agreement.disturb(tmp_path, seed)
    assert agreement.replayed(tmp_path) == live
    assert len({each.failure_class for each in live.values()}) >= 7
