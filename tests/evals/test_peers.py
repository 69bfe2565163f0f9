"""The figures of agreement against scikit-learn and statsmodels (extra `peers`), on many tables."""

from random import Random

import pytest

from otel_aml.evals.agreement import Confusion, cohens_kappa, wilson

# Where scipy came without the other two, or with a broken build of theirs, they are as good as missing.
metrics = pytest.importorskip("sklearn.metrics", reason="needs the extra `peers`")
proportion = pytest.importorskip("statsmodels.stats.proportion", reason="needs the extra `peers`")


def test_wilson_is_that_of_statsmodels():
    """Every count up to 60 trials, and some large ones, at three levels."""
    tables = [(count, of) for of in range(1, 61) for count in range(of + 1)]
    tables += [(1, 100_000), (99_999, 100_000), (12_345, 50_000)]
    for count, of in tables:
        for level in (0.8, 0.95, 0.999):
            low, high = proportion.proportion_confint(count, of, alpha=1 - level, method="wilson")
            found = wilson(count, of, level=level)
            assert (found.low, found.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


@pytest.mark.parametrize("words", ["ab", "abcdef"])
def test_kappa_is_that_of_scikit_learn(words):
    """With two words and with six."""
    rng = Random(words)
    for _ in range(200):
        one = [rng.choice(words) for _ in range(40)]
        other = [word if rng.random() < 0.6 else rng.choice(words) for word in one]
        assert cohens_kappa(one, other) == pytest.approx(metrics.cohen_kappa_score(one, other), abs=1e-12)


def test_the_rates_are_those_of_scikit_learn():
    """TPR is the recall of what failed, TNR that of what is fine."""
    rng = Random(5)
    for _ in range(200):
        pairs = [(rng.random() < 0.4, rng.random() < 0.5) for _ in range(30)] + [(True, True), (False, False)]
        labels, words = zip(*pairs, strict=True)
        found = Confusion.of(pairs)
        assert found.tpr.value == pytest.approx(metrics.recall_score(labels, words))
        assert found.tnr.value == pytest.approx(metrics.recall_score(labels, words, pos_label=False))
        assert found.agreement.value == pytest.approx(metrics.accuracy_score(labels, words))
        assert found.kappa == pytest.approx(metrics.cohen_kappa_score(labels, words))
