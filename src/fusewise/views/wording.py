"""What the report says in words and tables: everything that is not a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels.words import counted, readable
from fusewise.views.findings import Findings, Missingness, Profile
from fusewise.views.findings.missingness import LEVEL
from fusewise.views.palette import SYMBOLS, colour, shape

#: Features named as what a cluster stands out by, and how far (in standard deviations) they must lie from the mean.
TRAITS, TRAIT_FROM = 3, 0.5
#: Columns named in a sentence; lines of a table of features or columns, and cells of it where clusters are many.
NAMED, LISTED, MOST_CELLS = 3, 200, 6_000
#: A row is doubtful if its likeliest cluster has less than this probability.
DOUBTFUL = 0.8


def headline(found: Findings) -> str:
    """The result in one sentence."""
    n, p = found.values.shape
    outliers = int(np.count_nonzero(found.labels < 0)) - len(found.blank)
    loose = f" and {counted(outliers, 'outlier')}" if outliers else ""
    whole = f"{counted(n, 'row')} of {counted(p, 'feature')}, {found.mask.mean():.1%} of the entries observed"
    return f"{counted(found.n_clusters, 'cluster')}{loose} in {whole}."


def notes(found: Findings) -> list[str]:
    """What a reader of the pictures has to know about them."""
    said = []
    blank, drawn = len(found.blank), len(found.drawn)
    if blank:
        has, belongs = ("has", "it is") if blank == 1 else ("have", "they are")
        said.append(f"{counted(blank, 'row')} {has} no observed entry and could belong anywhere: {belongs} not drawn.")
    if drawn < len(found.labels) - blank:
        said.append(
            f"The map and the path show {drawn:,} of the {len(found.labels) - blank:,} rows, drawn at random with rows "
            "of every cluster; all numbers in tables are of all rows."
        )
    return said


def clusters(found: Findings, profile: Profile) -> list[dict[str, Any]]:
    """One line for each cluster."""
    lines = []
    for k in range(found.n_clusters):
        members = found.labels == k
        sure = None if found.confidence is None else found.confidence[members]
        some = bool(members.any())
        lines.append(
            {
                "number": k,
                "colour": colour(k),
                "symbol": SYMBOLS[shape(k)],
                "size": int(found.sizes[k]),
                "share": found.sizes[k] / max(len(found.labels), 1),
                "observed": f"{found.mask[members].mean():.0%}" if some else "–",
                "confidence": None if sure is None else f"{sure.mean():.3f}" if some else "–",
                "doubtful": None if sure is None else int(np.count_nonzero(sure < DOUBTFUL)),
                "traits": traits(found, profile, k),
            }
        )
    return lines


def traits(found: Findings, profile: Profile, k: int) -> list[str]:
    """What a cluster stands out by: where it lies furthest from the mean of all rows, in the user's units.

    Never empty: a cluster that stands out by nothing is said to lie near the mean.
    """
    away = np.nan_to_num(profile.deviations[k])
    furthest = [j for j in np.argsort(-np.abs(away), kind="stable")[:TRAITS] if abs(away[j]) >= TRAIT_FROM]
    values = center_values(found, k)
    named = [f"{found.features[j]} {'▲' if away[j] > 0 else '▼'} {values[j]}" for j in furthest]
    return named or ["close to the mean of all rows"]


def center_values(found: Findings, k: int) -> list[str]:
    """The centre of a cluster as it is written: numbers in the user's units, shares of categories in percent."""
    values = found.shown(found.centers[k])
    return [
        # Shrinkage can leave a share a hair outside of [0, 1].
        f"{np.clip(value, 0, 1):.0%}" if share else readable(value)
        for value, share in zip(values, found.shares, strict=True)
    ]


def steps(found: Findings) -> list[dict[str, Any]]:
    """One line for each step of the path."""
    chosen = found.trail.chosen
    return [
        {"groups": s.n_groups, "lam": s.lam, "criterion": s.criterion, "chosen": k == chosen}
        for k, s in enumerate(found.trail.steps)
    ]


def path_sentence(found: Findings) -> str:
    """What the path shows."""
    trail = found.trail
    if trail.chosen is None:
        return "The model was fitted at one given lam: there is no path to show."
    taken = trail.steps[trail.chosen]
    name = trail.criterion_name
    said = (
        f"{counted(len(trail.steps), 'step')} from every row on its own to ever fewer groups, as the weight of fusion "
        f"lam grows. The result was taken where there are {counted(taken.n_clusters, 'group')}, by the largest {name}."
    )
    few = len(trail.rows) < len(found.drawn)
    return said + (f" Shown are the {len(trail.rows):,} rows by which the clusters were found." if few else "")


def telling(found: Findings, profile: Profile) -> list[dict[str, Any]]:
    """Features by how well they tell the clusters apart."""
    order = np.argsort(-profile.telling, kind="stable")[: _lines(found)]
    centers = [center_values(found, k) for k in range(found.n_clusters)]
    return [
        {
            "feature": found.features[j],
            "share": float(profile.telling[j]),
            "centers": [
                "no entry" if np.isnan(profile.deviations[k, j]) else centers[k][j] for k in range(found.n_clusters)
            ],
        }
        for j in order
    ]


def profile_sentences(found: Findings, profile: Profile) -> list[str]:
    """Which features tell clusters apart, and what is not drawn."""
    if found.n_clusters < 2:
        return ["There is one cluster only: nothing to tell apart."] if found.n_clusters else ["There is no cluster."]
    order = np.argsort(-profile.telling, kind="stable")[:NAMED]
    named = _listed([f"{found.features[j]} ({profile.telling[j]:.0%})" for j in order])
    said = [f"The clusters differ most in {named}: so much of the variance of each lies between the clusters."]
    if len(profile.shown) < len(profile.telling):
        said.append(f"Drawn are the {len(profile.shown)} most telling of {len(profile.telling):,} features.")
    holes = int(np.isnan(profile.deviations).sum())
    if holes:
        empty = counted(holes, "cell is", "cells are")
        said.append(f"{empty} left empty: no row of the cluster has that feature observed.")
    return said


def missing_sentences(found: Findings, missing: Missingness) -> list[str]:
    """Whether missingness itself differs by cluster."""
    if found.mask.all():
        return ["Nothing is missing."]
    if found.n_clusters < 2:
        return ["There are no two clusters whose holes could be compared."]
    tested, differing = int(np.count_nonzero(~np.isnan(missing.p_values))), missing.differing
    how = f"Pearson's chi-square test for each column, corrected for their number by Holm's method, level {LEVEL:.0%}"
    if not tested:
        return ["No column has enough holes and rows in every cluster to say whether holes depend on the cluster."]
    untested = found.values.shape[1] - tested
    rest = f" {counted(untested, 'column')} could not be tested: too few holes or entries." if untested else ""
    if not len(differing):
        return [f"Holes do not depend on the cluster in any of {counted(tested, 'column')} tested ({how}).{rest}"]
    depends = f"Holes depend on the cluster in {len(differing)} of {counted(tested, 'column')} tested ({how}).{rest}"
    named = _listed([_extremes(found, missing, j) for j in differing[:NAMED]])
    care = (
        "That can be a finding in itself; it also means that entries are not missing completely at random, "
        "which the promises below assume."
    )
    return [depends, f"Most clearly {named}.", care]


def _extremes(found: Findings, missing: Missingness, j: int) -> str:
    low, high = int(missing.rates[:, j].argmin()), int(missing.rates[:, j].argmax())
    return (
        f"{found.features[j]} (missing in {missing.rates[low, j]:.0%} of cluster {low}, "
        f"in {missing.rates[high, j]:.0%} of cluster {high})"
    )


def map_size(found: Findings, missing: Missingness) -> str:
    """What one cell of the missingness map stands for."""
    n, p = found.values.shape
    rows, columns = missing.bands.shape
    if (rows, columns) == (n, p):
        return "Each line is a row, each column a column of the table."
    tall = f"up to {int(np.diff(missing.rows).max()):,} rows of one cluster" if rows < n else "a row"
    wide = f"up to {int(np.diff(missing.columns).max()):,} columns" if columns < p else "a column"
    return f"The table is too large to draw entry by entry: a cell is {tall} by {wide}, shaded by the part observed."


def missing_columns(found: Findings, missing: Missingness) -> list[dict[str, Any]]:
    """One line for each column, the clearest differences first."""
    order = np.lexsort((np.arange(len(missing.p_values)), np.nan_to_num(missing.p_values, nan=2.0)))[: _lines(found)]
    return [
        {
            "feature": found.features[j],
            "whole": float(1 - found.mask[:, j].mean()),
            "rates": missing.rates[:, j].tolist(),
            "p_value": None if np.isnan(missing.p_values[j]) else float(missing.p_values[j]),
        }
        for j in order
    ]


def _lines(found: Findings) -> int:
    """Lines of a table with a column for each cluster."""
    return max(NAMED, min(LISTED, MOST_CELLS // max(found.n_clusters, 1)))


def _listed(words: list[str]) -> str:
    """A, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
