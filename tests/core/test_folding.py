"""Ids are the same after folding what cannot change identity, and only then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.core.folding import fold_id, fold_label

SAME = [
    pytest.param("TX-001", "tx-001", id="case"),
    pytest.param("  tx-001\n", "tx-001", id="white space around"),
    pytest.param("tx  \t 001", "tx 001", id="white space within"),
    pytest.param("tx\u00a0001", "tx 001", id="a no-break space"),
    pytest.param("[tx-001]", "tx-001", id="brackets"),
    pytest.param("(tx-001)", "tx-001", id="parentheses"),
    pytest.param("{tx-001}", "tx-001", id="braces"),
    pytest.param("<tx-001>", "tx-001", id="angle brackets"),
    pytest.param('"tx-001"', "tx-001", id="quotes"),
    pytest.param("'tx-001'", "tx-001", id="single quotes"),
    pytest.param("`tx-001`", "tx-001", id="backticks"),
    pytest.param("\u201ctx-001\u201d", "tx-001", id="curly quotes"),
    pytest.param("\u2018tx-001\u2019", "tx-001", id="single curly quotes"),
    pytest.param("\u00abtx-001\u00bb", "tx-001", id="guillemets"),
    pytest.param('[ "tx-001" ]', "tx-001", id="quotes in brackets"),
    pytest.param("tx\u2011001", "tx-001", id="a no-break hyphen"),
    pytest.param("tx\u2212001", "tx-001", id="a minus sign"),
    pytest.param("[]", "", id="nothing in brackets"),
    pytest.param("\u00c4-1", "\u00e4-1", id="case beyond ASCII"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_identity_survives(one, other):
    """A model that writes an id otherwise cites it all the same."""
    assert fold_id(one) == fold_id(other) == other


@pytest.mark.parametrize("hyphen", "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")
def test_every_hyphen_is_one(hyphen):
    """Word processors and models like to vary them."""
    assert fold_id(f"tx{hyphen}1") == "tx-1"


DIFFERENT = [
    pytest.param("tx-001", "tx-01", id="zeros count"),
    pytest.param("tx-001", "tx-0010", id="a prefix is another id"),
    pytest.param("tx-001", "tx001", id="a missing hyphen"),
    pytest.param("tx-O1", "tx-01", id="the letter O is no zero"),
    pytest.param("tx-\u0430", "tx-a", id="a Cyrillic letter"),
    pytest.param("tx-\u212a1", "tx-k1", id="the Kelvin sign"),
    pytest.param("tx-\u00df", "tx-ss", id="a sharp s"),
    pytest.param("[tx-1)", "tx-1", id="brackets that are no pair"),
    pytest.param("[tx-1", "tx-1", id="half a pair"),
    pytest.param('"', "", id="a lone quote"),
    pytest.param("tx_1", "tx-1", id="an underscore is no hyphen"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_identity_is_not_guessed(one, other):
    """What could be another transaction is another transaction."""
    assert fold_id(one) != fold_id(other)


LABELS = [
    pytest.param("Structuring", "structuring", id="case"),
    pytest.param("trade-based laundering", "trade_based_laundering", id="hyphens"),
    pytest.param("Trade Based  Laundering", "trade_based_laundering", id="spaces"),
    pytest.param("__structuring__", "structuring", id="underscores around"),
    pytest.param('"structuring"', "structuring", id="quotes"),
    pytest.param("-(structuring)-", "structuring", id="brackets in hyphens"),
]


@pytest.mark.parametrize(("label", "folded"), LABELS)
def test_labels_fold_further(label, folded):
    """Names of typologies are words, written in more ways than ids."""
    assert fold_label(label) == folded


TEXTS = st.text(alphabet=st.sampled_from("aA1 -_\u2010\u212a\u0130\u01c5\t()[]\"'`<>")) | st.text()


@given(text=TEXTS)
def test_folding_twice_is_folding_once(text):
    """Folded ids can be folded again wherever they pass."""
    assert fold_id(fold_id(text)) == fold_id(text)
    assert fold_label(fold_label(text)) == fold_label(text)
