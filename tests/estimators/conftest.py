import pytest

from fusewise.datasets import hide_entries, make_clusters


@pytest.fixture(scope="session")
def clusters():
    """Three clear clusters of unequal size with 20% of the entries hidden."""
    X, y, _ = make_clusters(3, [40, 30, 20], 10, noise=0.08, random_state=0)
    return hide_entries(X, 0.2, random_state=0), y
