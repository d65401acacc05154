"""The page in a real, headless Chromium, without a network: what it says, and that nothing of the table runs in it."""

import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from browsers import ChromiumTab
from report_helpers import NASTY_COLUMN, NASTY_ROW
from scipy.spatial import cKDTree

from fusewise import FusionClustering
from fusewise.datasets import make_clusters
from fusewise.views import _report as report
from fusewise.views import read_findings, write_report


@pytest.fixture(scope="module")
def opened(browser, page_file):
    opened = ChromiumTab(browser, page_file, 1280)
    yield opened
    opened.close()


@pytest.fixture
def page(opened):
    return opened.page


def test_opens_offline_without_a_complaint(opened, page_file):
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("data:", "blob:"))] == [page_file.as_uri()]


def test_names_are_text(page, names, features):
    """Nothing from the table runs or becomes an element, in words, tables, tooltip, panel or pictures."""
    page.locator("#find-row").fill(NASTY_ROW)
    page.locator("#find button").click()
    assert page.locator("#row h3").inner_text() == NASTY_ROW
    assert NASTY_COLUMN in page.locator("#row tbody th").all_inner_texts()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == "A <b>title</b>"
    assert NASTY_COLUMN in page.locator("#profile-picture .feature").all_text_contents()
    page.locator("#rows-clear").click()


def on_screen(opened, found, row):
    """Where a row of the map is on the screen: its marker in the map as SVG, in the order of clusters and rows."""
    labels = found.labels[found.drawn]
    order = np.lexsort((np.arange(len(labels)), labels))
    _, content = opened.saved("#map-picture + .tools button:nth-child(1)")
    root = ElementTree.fromstring(content)
    clip = next(group for group in root.iter() if group.get("clip-path"))
    places = [e.get("transform") for e in clip.iter() if e.get("transform", "").startswith("translate")]
    x, y = map(
        float, re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", places[int(np.flatnonzero(order == row)[0])]).groups()
    )
    opened.middle("#map-picture")
    box = opened.page.locator("#map-picture").bounding_box()
    legend = float(root.get("height")) - box["height"]  # a file has the legend above the map
    return box["x"] + x, box["y"] + y - legend


def point_at(opened, found, row):
    """Move the pointer to a row of the map, and wait for its name (others may be said on the way)."""
    x, y = on_screen(opened, found, row)
    opened.page.mouse.move(x - 60, y - 60)
    opened.page.mouse.move(x, y, steps=4)
    name = json.dumps(found.names[found.drawn[row]])
    opened.wait(f"document.querySelector('#tooltip b')?.textContent === {name}")
    assert opened.page.locator("#tooltip").is_visible()


def lonely_row(found):
    """A clustered row well within the first view whose nearest neighbour is far: no other is under the pointer."""
    gaps = cKDTree(found.points).query(found.points, k=2)[0][:, 1]
    low, high = np.quantile(found.points, [0.05, 0.95], axis=0)
    inside = ((found.points > low) & (found.points < high)).all(axis=1) & (found.labels[found.drawn] >= 0)
    return int(np.where(inside, gaps, 0).argmax())


def test_hover_shows_the_row(opened, model, names, features, table):
    found = read_findings(model, names=names, feature_names=features)
    row = lonely_row(found)
    where = int(found.drawn[row])
    point_at(opened, found, row)
    shown = opened.page.locator("#tooltip").inner_text()
    assert f"cluster {found.labels[where]}" in shown
    missing = sum(np.isnan(table[where]))
    assert shown.count("missing") == missing  # all 8 columns fit into the tooltip


def test_click_keeps_the_row(opened, model, names, table):
    found = read_findings(model, names=names)
    row = lonely_row(found)
    opened.page.mouse.click(*on_screen(opened, found, row))
    where = int(found.drawn[row])
    opened.wait(f"document.querySelector('#row h3')?.textContent === {json.dumps(names[where])}")
    entries = opened.page.locator("#row tbody td").all_inner_texts()
    shown = [np.nan if text.startswith("missing") else float(text.replace("−", "-")) for text in entries]
    np.testing.assert_allclose(shown, table[where], rtol=5.1e-3)  # three digits


def test_everything_has_a_name(page):
    """What a screen reader needs: a language, headings without gaps, names for controls, pictures and tables."""
    unnamed = page.evaluate(
        """() => [
            ...[...document.querySelectorAll('input, select')].filter((e) => !e.labels.length && !e.ariaLabel),
            ...[...document.querySelectorAll('button')].filter((e) => !e.textContent.trim() && !e.ariaLabel),
            ...[...document.querySelectorAll('.picture')].filter((e) => !e.ariaLabel || !e.role),
            ...[...document.querySelectorAll('main > section')].filter((e) => !e.getAttribute('aria-labelledby')),
            ...[...document.querySelectorAll('main table:not(aside table)')].filter((e) => !e.caption),
            ...[...document.querySelectorAll('thead th')].filter((e) => !e.scope),
        ].map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((e) => Number(e.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.evaluate("document.documentElement.lang") == "en"


def brightness(page, what):
    colour = page.evaluate(what)
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


def test_dark_and_paper(browser, page_file):
    """Dark where the system is, white on paper and in files."""
    paper = "getComputedStyle(document.body).backgroundColor"
    corner = "[...document.querySelector('#map-picture canvas').getContext('2d').getImageData(2, 2, 1, 1).data]"
    ink = "document.querySelector('#profile-picture text.feature').getAttribute('fill')"
    opened = ChromiumTab(browser, page_file, 1280, color_scheme="dark")
    assert brightness(opened.page, paper) < 150
    assert opened.js(corner)[3] == 0  # the page shines through
    dark = opened.js(ink)
    _, content = opened.saved("#profile-picture + .tools button:nth-child(1)")
    assert f'fill="{dark}"'.encode() not in content
    assert opened.js(ink) == dark
    opened.page.emulate_media(media="print")
    opened.wait(f"{ink} !== '{dark}'")
    assert brightness(opened.page, paper) == 765
    assert opened.complaints == []
    opened.close()


def test_without_scripts_the_tables_are_there(browser, page_file, model):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert "need JavaScript" in page.locator("noscript").inner_text()
    rows = page.locator("#clusters table").first.locator("tbody tr")
    assert rows.count() == model.n_clusters_ + 1  # and the outliers
    context.close()


def test_many_rows_still_answer(browser, tmp_path):
    """Three thousand rows: hover still finds its row, and twelve clusters fold in the legend."""
    X, _, _ = make_clusters(12, 260, 6, noise=0.1, random_state=0)
    model = FusionClustering(n_clusters=12).fit(X)
    found = read_findings(model)
    opened = ChromiumTab(browser, write_report(model, tmp_path / "many.html"), 1280)
    point_at(opened, found, lonely_row(found))
    assert opened.js("document.querySelectorAll('#map-legend > button').length") == 10
    assert opened.text("#map-legend summary") == "2 more"
    assert opened.complaints == []
    opened.close()


@pytest.mark.parametrize(("low", "high", "texts"), [(2007, 2010, "2007 2008 2009 2010"), (0, 3, "0 1 2 3")])
def test_no_two_ticks_read_the_same(page, low, high, texts):
    """Of numbers written without decimals, there are no ticks between whole ones."""
    scales = Path(report.__file__).with_name("web") / "scales.js"
    asked = f"linearScale([{low}, {high}], [0, 300], {{ format: (value) => value.toFixed(0) }})"
    told = f"(() => {{ {scales.read_text()}; return {asked}.ticks.map((tick) => tick.text).join(' '); }})()"
    assert page.evaluate(told) == texts
