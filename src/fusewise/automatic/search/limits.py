"""What may have been missed, in words: the limits that a search met."""

from __future__ import annotations

from collections.abc import Sequence

from fusewise.kernels.words import counted, in_series


def of_sample(n_sampled: int, n_rows: int, n_clusters: int) -> str:
    """More clusters were found than the largest sample shows well."""
    return (
        f"Clusters were searched for in {n_sampled:,} of {counted(n_rows, 'row')}, the largest sample that is used: "
        f"there may be more than {counted(n_clusters, 'cluster')}."
    )


def of_kind(smallest: float, n_rows: int, what: str) -> str:
    """Rare clusters are not looked for in such a table."""
    return (
        f"Clusters of fewer than about {smallest:,.0f} of {counted(n_rows, 'row')} were not looked for: rare clusters "
        f"are found in tables of numbers only, and this one {what}."
    )


def of_outliers(n_searched: int, n_outlying: int) -> str:
    """There are more rows far from all clusters than are searched."""
    return (
        f"Of {counted(n_outlying, 'row')} far from every cluster, a sample of {n_searched:,} was searched for rare "
        "clusters: the smallest may be missing."
    )


def of_size(sizes: Sequence[float], min_size: float) -> str:
    """Groups that were found are smaller than asked for."""
    groups = counted(len(sizes), "rare group was", "rare groups were")
    about = in_series([f"{size:,.0f}" for size in sizes])
    return f"{groups} left out, of about {about} rows: min_cluster_size is {min_size:,.0f}."


def of_shapes() -> str:
    """Columns were made symmetric."""
    return (
        "Columns are so skewed that even a single cluster would be cut into several. So clusters were searched for in "
        "columns made symmetric (by a Box-Cox power of each); their centres are nearer to medians than to means."
    )
