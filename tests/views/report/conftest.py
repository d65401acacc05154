"""Models, pages and browsers for the tests of the report."""

import os

import numpy as np
import pytest
from browsers import CHROMIUMS, FIREFOXES, FLAGS, ChromiumTab, Firefox, FirefoxTab, find_browser
from report_helpers import NASTY_COLUMN, NASTY_ROW

from fusewise import DataWarning, FusionClustering
from fusewise.datasets import hide_entries, make_clusters
from fusewise.views import write_report


@pytest.fixture(scope="session")
def table():
    X, _, _ = make_clusters(3, 25, 8, noise=0.1, random_state=0)
    X = hide_entries(X, 0.25, random_state=1)
    X[3, :4] += 9.0  # an outlier
    X[5] = np.nan  # a row with nothing observed
    return X


@pytest.fixture(scope="session")
def names(table):
    return [NASTY_ROW] + [f"row {i}" for i in range(1, len(table))]


@pytest.fixture(scope="session")
def features(table):
    return [NASTY_COLUMN] + [f"feature {j}" for j in range(1, table.shape[1])]


@pytest.fixture(scope="session")
def model(table):
    with pytest.warns(DataWarning, match="observed"):
        return FusionClustering().fit(table)


@pytest.fixture(scope="session")
def page_file(model, names, features, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(model, path, names=names, feature_names=features, title="A <b>title</b>")


@pytest.fixture(scope="session")
def plants():
    """A table of numbers and categories with missing values, as a reader might bring it."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    kind = np.repeat([0, 1, 2], [40, 30, 20])
    frame = pandas.DataFrame(
        {
            "height, m": rng.normal([2.0, 9.0, 10.2], 0.8, (90, 3))[np.arange(90), kind].round(2),
            "leaves": np.array(["needle", "broad", 'round "leaf"'], dtype=object)[kind],
            "seeds": rng.poisson([3.0, 40.0, 44.0], (90, 3))[np.arange(90), kind].astype(float),
            "soil": rng.choice(np.array(["sand", "clay"], dtype=object), 90),
        }
    )
    hidden = rng.random(frame.shape) < 0.12
    hidden[:, 2] &= ~hidden[:, 0]  # every plant has a number
    return frame.mask(hidden)


@pytest.fixture(scope="session")
def plant_model(plants):
    """Three clusters, with two as another number that is nearly as good."""
    model = FusionClustering(n_clusters=3).fit(plants)
    assert [other.n_clusters for other in model.alternatives()] == [2]
    return model


@pytest.fixture(scope="session")
def plant_page(plant_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("plants") / "plants.html"
    return write_report(plant_model, path, names=[f"plant {i}" for i in range(90)], title="Plants")


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    found = find_browser("FUSEWISE_CHROMIUM", CHROMIUMS)
    with playwright.sync_playwright() as driver:
        found = found or (driver.chromium.executable_path if os.path.exists(driver.chromium.executable_path) else None)
        if found is None:
            pytest.skip("no Chromium is installed: .ci/chromium puts one in place")
        chromium = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def firefox():
    found = find_browser("FUSEWISE_FIREFOX", FIREFOXES)
    if found is None:
        pytest.skip("no Firefox is installed: .ci/firefox puts one in place")
    started = Firefox(found)
    yield started
    started.close()


@pytest.fixture(
    scope="module",
    params=[*(("chromium", width) for width in (390, 800, 3840)), ("firefox", 390), ("firefox", 1280)],
    ids=str,
)
def tab(request, plant_page):
    """The page of the plants in both browsers, as wide as a phone, a tablet, a laptop and a 4K screen."""
    kind, width = request.param
    if kind == "chromium":
        opened = ChromiumTab(request.getfixturevalue("browser"), plant_page, width)
    else:
        opened = FirefoxTab(request.getfixturevalue("firefox"), plant_page, width)
    yield opened
    opened.close()
