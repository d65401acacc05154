"""How sure it is that an outlier is one.

Clusters have a share t of their own rows at a certain distance or beyond: n t of n rows. If c rows are that far, the
fraction n t / c of them is expected to be ordinary (the false discovery rate; Benjamini and Hochberg, 1995; Efron and
Tibshirani, 2002), and the others are outliers.
"""

from __future__ import annotations

import numpy as np

from fusewise.kernels.types import Index, Real


def outlier_confidence(tails: Real, known: Real, n_rows: int, counts: Index | None = None) -> Real:
    """1 - min over s >= t of n s / #{j: t_j <= s}, for each t: the probability that such a row is an outlier.

    Parameters
    ----------
    tails : share t of a cluster's rows as far from it as each of some rows, or further.
    known : the same for the outliers among the n rows of the fit, in increasing order.
    n_rows : n.
    counts : number of outliers with a share of known_k or less; None: 1, 2, ..., each is listed.
    """
    counts = np.arange(1, len(known) + 1) if counts is None else counts
    rates = n_rows * known / counts
    further = np.append(np.minimum.accumulate(rates[::-1])[::-1], np.inf)
    place = np.searchsorted(known, tails, side="right")
    count = np.append(0, counts)[place]
    return np.asarray(1 - np.minimum(np.minimum(n_rows * tails / np.maximum(count, 1), further[place]), 1.0))
