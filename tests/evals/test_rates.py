"""Figures of agreement: against references, at their edges, and the interval of a corrected rate."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_aml.evals.agreement import (
    Confusion,
    Interval,
    Proportion,
    cohens_kappa,
    corrected_rate,
    rogan_gladen,
    wilson,
)

counts = st.integers(min_value=0, max_value=400)
confusions = st.builds(Confusion, tp=counts, fp=counts, fn=counts, tn=counts)


def pairs(confusion):
    """The labels and the words that a confusion counts."""
    return (
        [(True, True)] * confusion.tp
        + [(False, True)] * confusion.fp
        + [(True, False)] * confusion.fn
        + [(False, False)] * confusion.tn
    )


class TestWilson:
    # statsmodels 0.15.0: proportion_confint(count, nobs, alpha=1 - level, method="wilson")
    @pytest.mark.parametrize(
        ("count", "of", "level", "low", "high"),
        [
            (0, 10, 0.95, 0.0, 0.2775327998628892),
            (10, 10, 0.95, 0.7224672001371106, 1.0),
            (30, 38, 0.95, 0.636542205246726, 0.8892520815700411),
            (7, 500, 0.99, 0.005488967933517724, 0.03524035556839523),
        ],
    )
    def test_it_is_that_of_statsmodels(self, count, of, level, low, high):
        """Values recorded from it; `test_peers.py` compares many more where it is installed."""
        found = wilson(count, of, level=level)
        assert (found.low, found.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))

    @given(of=st.integers(min_value=1, max_value=500), data=st.data())
    def test_it_holds_what_was_seen_and_stays_within_bounds(self, of, data):
        """At every count."""
        count = data.draw(st.integers(min_value=0, max_value=of))
        found = wilson(count, of)
        assert 0 <= found.low <= count / of <= found.high <= 1

    def test_nothing_has_no_interval(self):
        """0/0 is not 0 and not 1."""
        assert wilson(0, 0) is None
        assert (Proportion(0, 0).value, Proportion(0, 0).interval) == (None, None)
        assert Proportion(0, 0).plain() == {"value": None, "count": 0, "of": 0, "interval": None}

    @pytest.mark.parametrize(("count", "of", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0), (1, 2, 0.0)])
    def test_what_cannot_be_is_refused(self, count, of, level):
        """A fault of the caller."""
        with pytest.raises(ValueError, match=r"proportion|confidence"):
            wilson(count, of, level=level)


class TestKappa:
    @pytest.mark.parametrize(
        ("confusion", "kappa"),
        [
            pytest.param(Confusion(tp=45, fp=5, fn=5, tn=45), 0.8, id="nine in ten agree, balanced"),
            pytest.param(Confusion(tp=90, fp=5, fn=5, tn=0), -0.05263157894736842, id="nine in ten agree by chance"),
            pytest.param(Confusion(tp=7, fp=0, fn=0, tn=0), None, id="only one word is ever used"),
            pytest.param(Confusion(tp=0, fp=0, fn=0, tn=0), None, id="nothing"),
        ],
    )
    def test_it_is_agreement_beyond_chance(self, confusion, kappa):
        """Raw agreement of .90 can be worth nothing."""
        assert confusion.kappa == (None if kappa is None else pytest.approx(kappa))

    @given(confusion=confusions)
    def test_counts_and_pairs_give_the_same(self, confusion):
        """Two ways to the same figure."""
        labels, words = zip(*pairs(confusion), strict=True) if confusion.total else ((), ())
        one, other = confusion.kappa, cohens_kappa(labels, words)
        assert one == other or one == pytest.approx(other)
        assert Confusion.of(zip(labels, words, strict=True)) == confusion

    def test_more_than_two_words(self):
        """scikit-learn 1.9.1: cohen_kappa_score."""
        assert cohens_kappa("aabbcc", "aabcca") == pytest.approx(0.5)


class TestRates:
    def test_what_does_not_exist_is_none(self):
        """Labels without one failure say nothing about finding failures."""
        found = Confusion(tp=0, fp=1, fn=0, tn=9)
        assert (found.tpr.value, found.tnr.value) == (None, 0.9)
        assert found.baselines == {"always_failed": 0.0, "always_fine": 1.0}
        assert Confusion(0, 0, 0, 0).baselines == {"always_failed": None, "always_fine": None}

    @pytest.mark.parametrize(
        ("observed", "tpr", "tnr", "rate"),
        [
            pytest.param(0.80, 0.92, 0.88, 0.85, id="corrected upwards"),
            pytest.param(0.02, 0.92, 0.88, 0.0, id="cut at nothing"),
            pytest.param(0.99, 0.92, 0.88, 1.0, id="cut at all"),
            pytest.param(0.5, 0.5, 0.5, None, id="a judge that tosses a coin"),
            pytest.param(0.5, None, 0.9, None, id="never seen a failure"),
            pytest.param(None, 0.9, 0.9, None, id="nothing judged"),
        ],
    )
    def test_a_rate_is_corrected_for_the_judges_errors(self, observed, tpr, tnr, rate):
        """And does not exist where the judge knows nothing."""
        assert rogan_gladen(observed, tpr, tnr) == (None if rate is None else pytest.approx(rate))


class TestCorrectedRate:
    JUDGE = Confusion(tp=46, fn=4, tn=44, fp=6)

    def test_it_is_the_same_for_the_same_seed(self):
        """A figure that is quoted can be made again."""
        seen = Proportion(60, 300)
        assert corrected_rate(self.JUDGE, seen, seed=3) == corrected_rate(self.JUDGE, seen, seed=3)
        assert corrected_rate(self.JUDGE, seen, seed=3) != corrected_rate(self.JUDGE, seen, seed=4)

    def test_both_sets_widen_it(self):
        """Fewer labels or fewer unlabelled runs: less is known."""
        narrow = corrected_rate(self.JUDGE, Proportion(1_000, 5_000)).interval
        few_runs = corrected_rate(self.JUDGE, Proportion(10, 50)).interval
        few_labels = corrected_rate(Confusion(tp=11, fn=1, tn=10, fp=2), Proportion(1_000, 5_000)).interval
        assert min(few_runs.high - few_runs.low, few_labels.high - few_labels.low) > narrow.high - narrow.low

    def test_a_judge_that_was_never_wrong_is_not_taken_for_perfect(self):
        """20 of 20 leaves room for errors, so the interval has a width."""
        found = corrected_rate(Confusion(tp=20, fn=0, tn=20, fp=0), Proportion(500, 5_000))
        assert found.value == pytest.approx(0.1)
        assert found.interval.low < 0.08

    def test_a_judge_no_better_than_chance_corrects_nothing(self):
        """No value, no interval, and JSON that says so."""
        found = corrected_rate(Confusion(tp=5, fn=5, tn=5, fp=5), Proportion(10, 20))
        assert (found.value, found.interval) == (None, None)
        assert found.plain()["value"] is None

    def test_rounds_that_say_nothing_are_counted(self):
        """A weak judge drops some."""
        found = corrected_rate(Confusion(tp=6, fn=4, tn=5, fp=4), Proportion(10, 20), rounds=400)
        assert 0 < found.dropped < found.rounds == 400
        assert found.interval is not None

    @given(confusion=confusions, of=st.integers(min_value=1, max_value=300), data=st.data())
    def test_the_interval_lies_within_bounds(self, confusion, of, data):
        """Whatever was seen."""
        seen = Proportion(data.draw(st.integers(min_value=0, max_value=of)), of)
        interval = corrected_rate(confusion, seen, rounds=40).interval
        assert interval is None or 0 <= interval.low <= interval.high <= 1

    def test_it_covers(self):
        """In a small simulation; `benchmarks/judge_coverage.py` has the large one."""
        from random import Random

        rng, held, simulations = Random(1), 0, 120
        for seed in range(simulations):
            tp, tn = (sum(rng.random() < chance for _ in range(50)) for chance in (0.92, 0.88))
            seen = sum(rng.random() < 0.15 * 0.92 + 0.85 * 0.12 for _ in range(200))
            judge = Confusion(tp=tp, fn=50 - tp, tn=tn, fp=50 - tn)
            interval = corrected_rate(judge, Proportion(seen, 200), rounds=300, seed=seed).interval
            held += interval.low <= 0.15 <= interval.high
        assert 0.88 <= held / simulations <= 1.0
        assert math.isclose(Interval(0.1, 0.2).plain()[1], 0.2)
