"""What a page shows, in which order, and what it keeps to itself."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from browsers import ChromiumTab
from report_helpers import data_of, unpacked

from fusewise import FusionClustering
from fusewise.report import write_report
from fusewise.views import read_findings, write_page


def numbers_in(data):
    """All numbers of the JSON of a page, those in packed arrays too."""
    if isinstance(data, dict):
        if {"kind", "shape", "bytes"} == set(data):
            yield from unpacked(data).astype(float).ravel().tolist()
        else:
            for part in data.values():
                yield from numbers_in(part)
    elif isinstance(data, list):
        for part in data:
            yield from numbers_in(part)
    elif isinstance(data, float):
        yield data


class Reader(HTMLParser):
    """The text of a page without scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.skipped, self.text = 0, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.skipped += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.skipped -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.skipped:
            self.text.append(data)


@pytest.fixture(scope="module")
def patients():
    """Two groups, a group of three, outlying values, a category with levels of a single row, and missing values."""
    rng = np.random.default_rng(0)
    k = np.repeat([0, 1, 2], [60, 50, 3])
    frame = pd.DataFrame(np.array([0.0, 9.0, 25.0])[k, None] + rng.normal(size=(113, 4)), columns=list("abcd"))
    frame["income"] = rng.lognormal(8, 2, 113)
    frame["town"] = np.where(rng.random(113) < 0.1, [f"hamlet {i}" for i in range(113)], np.array(["x", "y", "y"])[k])
    frame.loc[rng.random(113) < 0.1, "b"] = np.nan
    return frame.astype({"town": "category"})


@pytest.fixture(scope="module")
def patient_model(patients):
    return FusionClustering().fit(patients)


def test_a_page_without_rows_has_nothing_of_a_row(patients, patient_model, tmp_path):
    """No name, no level of a single row, and no value to five digits, in text or packed."""
    names = [f"patient {i}" for i in range(len(patients))]
    page = write_report(patient_model, tmp_path / "p.html", names=names, rows=False).read_text("utf-8")
    assert "patient" not in page
    assert "hamlet" not in page
    values = patients.select_dtypes("number").to_numpy()
    values = values[np.isfinite(values)]
    shown = {f"{number:.5g}" for number in numbers_in(data_of(page)) if f"{number:.5g}" != f"{number:.4g}"}
    assert not shown & {f"{value:.5g}" for value in values}
    assert not [value for value in values if f"{value:.7g}" in page]
    whole = write_report(patient_model, tmp_path / "q.html", names=names).read_text("utf-8")
    assert "patient 7" in whole  # the test can fail
    assert {f"{number:.5g}" for number in numbers_in(data_of(whole))} & {f"{value:.5g}" for value in values}


def test_a_page_without_rows_draws_the_groups(patient_model, tmp_path, browser):
    opened = ChromiumTab(browser, write_report(patient_model, tmp_path / "p.html", rows=False), 1280)
    assert opened.complaints == []
    assert opened.js("document.querySelector('#map-picture canvas') !== null")
    assert opened.js("document.querySelectorAll('#rows-list, #table, #path, [data-export=labels]').length") == 0
    assert len(opened.texts("#clusters [data-partition='0'] .sheet h3")) == patient_model.n_clusters_
    opened.close()


def test_what_was_found_comes_first(patient_model, tmp_path):
    """The map, then the clusters; words of the method only in the last section; nobody is told to hover."""
    page = patient_model.report(tmp_path / "p.html").read_text("utf-8")
    order = [page.index(f'id="{name}"') for name in ("map", "clusters", "sure", "profiles", "missing", "making")]
    assert order == sorted(order)
    before = " ".join(Reader(page[: order[-1]]).text).lower()
    for word in ("box-cox", "likelihood", "kappa", "lam,", "penalty", "mu0", "hover"):
        assert word not in before
    assert "hover" not in " ".join(Reader(page).text).lower()


def test_counts_agree(tmp_path):
    """The legend and the table count all rows, also if a sample is drawn."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)) + np.repeat([[0.0], [12.0]], 150, axis=0)
    X[::25] = rng.uniform(-200, 200, size=(12, 3))
    model = FusionClustering().fit(X)
    outliers = int((model.labels_ < 0).sum())
    assert outliers >= 5
    write_page(read_findings(model, most_drawn=60), tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text("utf-8")
    assert data_of(page)["partitions"][0]["outliers"] == outliers
    assert f'outliers</th><td class="number">{outliers}</td>' in page


def test_skewed_columns_are_drawn_on_a_scale_that_shows_them(patient_model, patients, tmp_path):
    """Of a lognormal column most values are in the first of even bins; as drawn, no bin has more than a quarter."""
    data = data_of(patient_model.report(tmp_path / "p.html").read_text("utf-8"))["partitions"][0]["contrasts"]
    columns = {column["name"]: column for column in data["columns"]}
    assert np.histogram(patients["income"], 8)[0].max() > 0.8 * 113
    counts = np.histogram(patients["income"], columns["income"]["edges"])[0]
    assert columns["income"]["soft"] > 0
    assert counts.max() < 0.25 * 113
    assert columns["a"]["soft"] == 0


def test_what_is_not_stable_is_said_first(tmp_path):
    """One group cut into six, and two groups: only of the former other parts of the rows give others."""
    rng = np.random.default_rng(0)
    for gap, loose in ((0, True), (9, False)):
        X = rng.normal(size=(120, 4)) + gap * (np.arange(120) % 2)[:, None]
        model = FusionClustering(n_clusters=6 if loose else None).fit(X)
        model.stability()
        page = Reader(model.report(tmp_path / "p.html", force=True).read_text("utf-8"))
        head = "".join(page.text).split("Each point is a row")[0]
        assert ("not stable: fits to random parts of the rows find others." in head) == loose


def test_the_first_view_leaves_out_a_few_distant_rows(tmp_path):
    """Two rows of 160 far from the others would leave these in a corner."""
    X = np.random.default_rng(0).normal(size=(160, 3))
    X[:80, :2] += 12
    X[:2, 2] = -70, 70
    model = FusionClustering(semi_supervised=True).fit(X, np.repeat([0, 1], 80))
    picture = data_of(model.report(tmp_path / "p.html").read_text("utf-8"))["maps"][0]
    places = np.column_stack([unpacked(picture[axis]) for axis in "xy"])
    ends = np.array(picture["frame"])
    inside = ((places >= ends[:, 0]) & (places <= ends[:, 1])).all(axis=1)
    assert np.flatnonzero(~inside).tolist() == [0, 1]
    assert (np.ptp(places[2:], axis=0) > 0.8 * np.diff(ends, axis=1)[:, 0]).all()


def test_alike_rows_of_different_clusters_have_no_endless_ratio(tmp_path):
    """Rows with the same observed answers in two clusters: nothing is divided by their distance 0."""
    rng = np.random.default_rng(0)
    usual, other = np.repeat(["a", "b"], 100)[:, None], rng.choice(["a", "b"], (200, 6))
    answers = np.where(rng.random((200, 6)) < 0.7, usual, other)
    frame = pd.DataFrame(answers).add_prefix("q").mask(rng.random((200, 6)) < 0.4)
    page = FusionClustering(n_clusters=2).fit(frame).report(tmp_path / "p.html").read_text("utf-8")
    assert "two points of different clusters coincide" in page
    assert "kappa = inf" not in page


@pytest.mark.parametrize("width", [390, 1280])
def test_many_clusters_and_columns_are_folded(browser, tmp_path, width):
    """Of 30 clusters and 60 columns the page shows 12 and 30 at first, and is about as tall as with few."""
    rng = np.random.default_rng(3)
    k = np.repeat(np.arange(30), 12)
    X = 20 * rng.normal(size=(30, 60))[k] + rng.normal(size=(360, 60))
    frame = pd.DataFrame(X, columns=["how a first column can be called", *(f"a long name {j}" for j in range(1, 60))])
    frame.iloc[0, 0] = np.nan
    frame *= 1000  # ticks of five digits
    model = FusionClustering(n_clusters=30).fit(frame)
    opened = ChromiumTab(browser, model.report(tmp_path / "p.html"), width)
    assert opened.cut_texts() == []
    visible = "[...document.querySelectorAll('{}')].filter((e) => e.checkVisibility()).length"
    assert opened.js(visible.format("article h3")) == 12
    assert opened.js(visible.format('#clusters [data-partition="0"] > .wide tbody tr')) <= 13  # one for outliers
    assert opened.js(visible.format("#making .wide tbody tr")) < 50
    assert opened.js("document.documentElement.scrollHeight") < 25_000
    opened.click("#clusters button[data-unfold]")
    assert opened.js(visible.format('#clusters [data-partition="0"] > .wide tbody tr')) >= 30
    clusters = "document.querySelector('#clusters .wide')"
    assert opened.js(f"{clusters}.scrollWidth <= {clusters}.clientWidth + 1")
    opened.close()
