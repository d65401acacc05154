"""Models and a Chromium for the tests of the report."""

import os
import shutil

import numpy as np
import pytest
from report_helpers import NASTY_COLUMN, NASTY_ROW

from fusewise import DataWarning, FusionClustering
from fusewise.datasets import hide_entries, make_clusters
from fusewise.views.report import write_report


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
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    known = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("FUSEWISE_CHROMIUM") or next(filter(None, map(shutil.which, known)), None)
    with playwright.sync_playwright() as driver:
        found = found or (driver.chromium.executable_path if os.path.exists(driver.chromium.executable_path) else None)
        if found is None:
            pytest.skip("no Chromium is installed: .ci/chromium puts one in place")
        flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
        chromium = driver.chromium.launch(executable_path=found, args=flags)
        yield chromium
        chromium.close()
