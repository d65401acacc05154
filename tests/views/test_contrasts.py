"""Each cluster against the other rows, against pandas and brute force."""

import numpy as np
import pytest
from scipy import stats

from fusewise import FusionClustering
from fusewise.views import _contrasts as module
from fusewise.views._columns import MOST_BINS, MOST_LEVELS, TableColumn, bins_of
from fusewise.views._contrasts import holm


def sides(frame, labels, contrast):
    values = frame[contrast.name]
    if values.dtype.name == "category" and values.cat.ordered:
        values = values.cat.codes.where(values.notna())
    member = labels == contrast.cluster
    return values[member], values[~member]


def test_sides_are_pandas(described, frame):
    labels = described._findings.labels
    for contrast in (contrast for of in described.contrasts.clusters for contrast in of):
        for side, values in zip((contrast.inside, contrast.outside), sides(frame, labels, contrast), strict=True):
            assert side.n == values.count() == sum(side.counts)
            assert side.missing == pytest.approx(values.isna().mean())
            if contrast.kind in ("number", "ordered"):
                numbers = values.dropna().astype(float)
                assert (side.median, side.mean) == pytest.approx((numbers.median(), numbers.mean()))
                assert (side.low, side.high) == pytest.approx(tuple(np.quantile(numbers, [0.1, 0.9])))


def test_effects_are_scipys(described, frame):
    labels = described._findings.labels
    for contrast in (contrast for of in described.contrasts.clusters for contrast in of):
        inside, outside = (values.dropna() for values in sides(frame, labels, contrast))
        if contrast.kind in ("number", "ordered"):
            x, y = inside.astype(float), outside.astype(float)
            assert contrast.effect.value == pytest.approx(
                2 * stats.mannwhitneyu(x, y).statistic / (len(x) * len(y)) - 1
            )
            assert contrast.separation == pytest.approx(stats.ks_2samp(x, y).statistic)
            above = [(values > contrast.limit).mean() for values in (x, y)]
            assert abs(above[0] - above[1]) == pytest.approx(contrast.separation)
        else:
            away = (
                inside.astype(str)
                .value_counts(normalize=True)
                .sub(outside.astype(str).value_counts(normalize=True), fill_value=0)
            )
            assert abs(contrast.effect.value) == pytest.approx(away.abs().max())
            assert contrast.effect.value == pytest.approx(away[contrast.level])
            assert contrast.separation == pytest.approx(away.abs().sum() / 2)


def test_importance_and_what_does_not_differ(described, frame):
    labels = described._findings.labels
    p_values = []
    for about in described.contrasts.columns:
        kept = frame[about.name].notna() & (labels >= 0)
        groups = [frame[about.name][kept & (labels == k)] for k in range(3)]
        if about.kind == "number":
            p_values.append(stats.kruskal(*groups).pvalue)
        elif about.kind == "ordered":
            p_values.append(stats.kruskal(*(group.cat.codes for group in groups)).pvalue)
        else:
            table = stats.contingency.crosstab(frame[about.name][kept].astype(str), labels[kept])[1]
            p_values.append(stats.chi2_contingency(table, correction=False).pvalue)
            assert about.importance == pytest.approx(stats.contingency.association(table, "cramer") ** 2)
    assert [about.p_value for about in described.contrasts.columns] == pytest.approx(holm(np.array(p_values)))
    assert [about.name for about in described.contrasts.columns if not about.differs] == ["noise"]
    importances = [about.importance for about in described.contrasts.columns]
    assert importances == sorted(importances, reverse=True)


def test_columns_without_differences_are_rarely_called_different():
    """Labels that have nothing to do with 40 columns: at a level of 1%, over 30 tables one may differ in chance."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(30):
        labels = rng.integers(0, 3, 60)
        columns = [TableColumn("x", "number", rng.normal(size=60)) for _ in range(40)]
        wrong += bool((holm(module.importances_of(columns, labels)[1]) < module.LEVEL).any())
    assert wrong <= 2


def test_bins_hold_every_value():
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(size=500), [1e6, -1e6, np.nan])
    bins = bins_of(TableColumn("x", "number", values))
    assert bins.n_bins <= MOST_BINS
    assert np.bincount(bins.places_of(values[:-1]), minlength=bins.n_bins).sum() == 502
    assert -5 < bins.edges[0] < bins.edges[-1] < 5  # far values are counted in the last bins, not drawn to scale
    few = bins_of(TableColumn("x", "number", np.array([1.0, 2, 2, 5])))
    assert [few.places_of(np.array([value]))[0] for value in (1.0, 2.0, 5.0)] == [0, 1, 2]


def test_a_few_values_far_apart_have_bins_that_can_be_seen():
    """Bids of 2 to 250, and 999: on the scale of the bins each has a tenth of the width or more."""
    values = np.repeat([2.0, 5, 20, 50, 100, 250, 999], 30)
    bins = bins_of(TableColumn("x", "number", values))
    assert bins.n_bins == 7
    widths = np.diff(np.arcsinh(np.array(bins.edges) / bins.soft))
    assert (widths / widths.sum() >= 0.1).all()
    assert bins_of(TableColumn("x", "number", np.arange(1990.0, 2010).repeat(5))).soft == 0


def test_rare_levels_are_counted_together():
    codes = np.repeat(np.arange(30.0), np.arange(1, 31))
    bins = bins_of(TableColumn("x", "category", codes, tuple(f"level {j}" for j in range(30))))
    counts = np.bincount(bins.places_of(codes), minlength=bins.n_bins)
    assert bins.n_bins == MOST_LEVELS
    assert counts[:-1].tolist() == list(range(20, 31))
    assert counts[-1] == sum(range(1, 20))


def test_a_cluster_with_nothing_observed_in_a_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    X[:30, 2] = np.nan
    described = FusionClustering().fit(X).describe()
    contrast = next(c for c in described.contrasts.clusters[0] if c.name == "x2")
    assert contrast.effect is None
    assert contrast.separation == 0
    assert "ore often missing x2 (100% against 0% elsewhere)" in " ".join(c.sentence for c in described.clusters)


def test_a_sample_of_a_long_table_is_said():
    X = np.random.default_rng(0).normal(size=(100_200, 1)) + np.repeat([[0.0], [20.0]], 50_100, axis=0)
    described = FusionClustering().fit(X).describe()
    assert "compared on a random sample of 100,000 rows" in repr(described)
    first = described.contrasts.clusters[0][0]
    assert first.inside.n + first.outside.n == described.contrasts.n_rows == 100_000
