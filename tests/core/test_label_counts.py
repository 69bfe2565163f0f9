"""A label against a prediction."""

import pytest

from otel_aml.core.labels import label_outcomes

ROWS = [
    pytest.param("structuring", "structuring", ("tp",), id="found"),
    pytest.param("layering", "structuring", ("fp", "fn"), id="one in the place of another"),
    pytest.param("layering", "none", ("fp",), id="something found in a clean case"),
    pytest.param("none", "structuring", ("fn",), id="nothing found"),
    pytest.param("", "structuring", ("fn",), id="an empty answer"),
    pytest.param("none", "none", (), id="a clean case, left alone"),
    pytest.param(None, "structuring", (), id="an answer that is not known"),
    pytest.param("structuring", None, (), id="no label"),
]


@pytest.mark.parametrize(("typology", "gold", "outcomes"), ROWS)
def test_a_label_counts_once_a_side(typology, gold, outcomes):
    """Summed over runs, tp / (tp + fn) is the recall and tp / (tp + fp) the precision."""
    assert label_outcomes(typology, gold) == outcomes
