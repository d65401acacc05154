"""Brute force, and data that realise a given feasibility graph."""

import numpy as np


def brute_force(adjacent):
    """Least l0 objective (ordered pairs) over every partition into cliques, by listing them all."""
    n = len(adjacent)
    allowed = [sum(1 << int(j) for j in np.flatnonzero(row)) for row in adjacent]
    best = 0

    def place(v, groups, kept):
        nonlocal best
        if v == n:
            best = max(best, kept)
            return
        for k, group in enumerate(groups):
            if not group & ~allowed[v]:
                groups[k] = group | 1 << v
                place(v + 1, groups, kept + group.bit_count())
                groups[k] = group
        place(v + 1, [*groups, 1 << v], kept)

    place(0, [], 0)
    return n * (n - 1) - 2 * best


def realise(adjacent):
    """Data whose feasibility graph at epsilon = 1 is the given one: a feature per missing edge, one shared by all."""
    n = len(adjacent)
    apart = np.argwhere(np.triu(~adjacent, 1))
    X = np.full((n, len(apart) + 1), np.nan)
    X[:, -1] = 0.0
    for p, (i, j) in enumerate(apart):
        X[i, p], X[j, p] = 0.0, 2.0
    return X


def random_graph(rng, n, density):
    upper = np.triu(rng.random((n, n)) < density, 1)
    return upper | upper.T


def path_graph(n):
    return np.eye(n, k=1, dtype=bool) | np.eye(n, k=-1, dtype=bool)


def objective_of(labels):
    labels = np.asarray(labels)
    return int((labels[:, None] != labels[None, :]).sum())


def planted(n_points, n_clusters, n_features, kappa, p0, seed):
    """Uniform clusters of width 1 with delta = sqrt(P)/kappa or a little more, each entry seen with probability p0."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_points) % n_clusters
    centres = rng.standard_normal((n_clusters, n_features))
    noise = rng.uniform(-0.5, 0.5, (n_points, n_features))
    other = truth[:, None] != truth[None, :]
    scale, delta = 0.1, np.sqrt(n_features) / kappa
    while True:
        X = scale * centres[truth] + noise
        squared = (X**2).sum(1)
        distances = np.sqrt(np.maximum(0, squared[:, None] + squared[None, :] - 2 * X @ X.T))
        if distances[other].min() >= delta:
            break
        scale *= 1.05
    X[rng.random(X.shape) > p0] = np.nan
    return X, truth
