"""The page in a real, headless Chromium, without a network."""

import json
from itertools import pairwise

import numpy as np
import pytest
from report_helpers import NASTY_COLUMN, NASTY_ROW
from scipy.spatial import cKDTree

from fusewise import FusionClustering
from fusewise.datasets import make_clusters
from fusewise.views.findings import read_findings
from fusewise.views.report import write_report

READY = "document.documentElement.dataset.ready === 'all'"
PATIENCE = 60_000  # milliseconds: a busy machine is no failure


class Opened:
    """A page, and everything it complained about or asked for."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce", **options)
        self.context.set_default_timeout(PATIENCE)
        self.context.set_offline(True)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_function(READY)


@pytest.fixture(scope="module")
def opened(browser, page_file):
    opened = Opened(browser, page_file)
    yield opened
    opened.context.close()


@pytest.fixture
def page(opened):
    return opened.page


def picture(page):
    return page.evaluate("document.getElementById('path-picture').toDataURL()")


def go_to(page, step):
    """Move the slider as a reader does, and wait for the picture to arrive."""
    page.locator("#path-slider").fill(str(step))
    page.wait_for_function(f"document.getElementById('path-picture').dataset.step === '{step}'")


def test_opens_offline_without_a_complaint(opened, page_file):
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(("data:", "blob:"))] == [page_file.as_uri()]


def test_names_are_text(page, names, features):
    """Nothing from the table runs or becomes an element, in words, tables, tooltip or panel."""
    page.locator("#find-row").fill(NASTY_ROW)
    page.locator("#find button").click()
    assert page.locator("#row h3").inner_text() == NASTY_ROW
    assert NASTY_COLUMN in page.locator("#row tbody th").all_inner_texts()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == "A <b>title</b>"
    # Plotly draws names too: as they are (shortened), not as its own little HTML.
    ticks = page.locator("#profile-picture .ytick text").all_text_contents()
    assert NASTY_COLUMN in ticks


def test_slider_moves_change_the_picture(page, model):
    trail = read_findings(model).trail
    seen = {}
    for step in (0, trail.chosen, len(trail.steps) - 1):
        go_to(page, step)
        seen[step] = picture(page)
        words = page.locator("#path-words").inner_text()
        assert words.startswith(f"Step {step + 1} of {len(trail.steps)}")
        assert ("this is the chosen step" in words) == (step == trail.chosen)
        cursor = page.evaluate("document.getElementById('path-criterion').layout.shapes[0].x0")
        assert cursor == step + 1
    assert len(set(seen.values())) == 3


def test_tree_follows_the_slider(page, model):
    last = len(read_findings(model).trail.steps) - 1
    solid = "document.getElementById('path-tree').data.filter((t) => t.line && t.line.dash === 'solid').length"
    dotted = solid.replace("solid", "dot")
    go_to(page, 0)
    assert page.evaluate(solid) == 0
    go_to(page, last)
    assert page.evaluate(solid) > 0
    assert page.evaluate(dotted) == 0


def test_slider_by_keyboard(page):
    go_to(page, 0)
    page.locator("#path-slider").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.getElementById('path-picture').dataset.step === '1'")
    assert page.locator("#path-slider").get_attribute("aria-valuetext").startswith("Step 2")
    page.locator("#path-chosen").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.getElementById('path-words').textContent.includes('chosen')")


def on_screen(page, row):
    """Where a row of the map is on the screen."""
    return page.evaluate(
        """([x, y]) => {
            const map = document.getElementById('map-picture');
            map.scrollIntoView({ block: 'center', behavior: 'instant' });
            const { xaxis, yaxis } = map._fullLayout, box = map.getBoundingClientRect();
            return [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(y)];
        }""",
        [float(v) for v in row],
    )


def point_at(page, row, name):
    """Move the pointer to a row of the map, and wait for its name (others may be said on the way)."""
    x, y = on_screen(page, row)
    page.mouse.move(x - 60, y - 60)
    page.mouse.move(x, y, steps=4)
    page.wait_for_function("name => document.querySelector('#tooltip b')?.textContent === name", arg=name)
    assert page.locator("#tooltip").is_visible()


def lonely_row(found):
    """A clustered row well within the first view whose nearest neighbour is far: no other is under the pointer."""
    gaps = cKDTree(found.points).query(found.points, k=2)[0][:, 1]
    low, high = np.quantile(found.points, [0.05, 0.95], axis=0)
    inside = ((found.points > low) & (found.points < high)).all(axis=1) & (found.labels[found.drawn] >= 0)
    return int(np.where(inside, gaps, 0).argmax())


def test_hover_shows_the_row(page, model, names, features, table):
    found = read_findings(model, names=names, feature_names=features)
    row = lonely_row(found)
    where = int(found.drawn[row])
    point_at(page, found.points[row], names[where])
    shown = page.locator("#tooltip").inner_text()
    assert f"cluster {found.labels[where]}" in shown
    missing = sum(np.isnan(table[where]))
    assert shown.count("missing") == missing  # all 8 features fit into the tooltip


def test_click_keeps_the_row(page, model, names, table):
    found = read_findings(model, names=names)
    row = lonely_row(found)
    page.mouse.click(*on_screen(page, found.points[row]))
    where = int(found.drawn[row])
    page.wait_for_function(f"document.querySelector('#row h3')?.textContent === {json.dumps(names[where])}")
    entries = page.locator("#row tbody td:nth-child(2)").all_inner_texts()
    shown = [np.nan if text == "missing" else float(text.replace("−", "-")) for text in entries]
    np.testing.assert_allclose(shown, table[where], rtol=5.1e-3)  # three digits


def test_near_names_are_offered(page):
    page.locator("#find-row").fill("ow 1")
    page.locator("#find button").click()
    offered = page.locator("#row li button").all_inner_texts()
    assert "row 1" in offered
    page.locator("#row li button").first.click()
    assert page.locator("#row h3").inner_text() == offered[0]


def test_everything_has_a_name(page):
    """What a screen reader needs: a language, headings without gaps, names for controls, pictures and tables."""
    unnamed = page.evaluate(
        """() => [
            ...[...document.querySelectorAll('input')].filter((e) => !e.labels.length),
            ...[...document.querySelectorAll('button')].filter((e) => !e.textContent.trim() && !e.ariaLabel),
            ...[...document.querySelectorAll('.picture')].filter((e) => !e.ariaLabel || !e.role),
            ...[...document.querySelectorAll('main > section')].filter((e) => !e.getAttribute('aria-labelledby')),
            ...[...document.querySelectorAll('main table:not(#row table)')].filter((e) => !e.caption),
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
    paper = "getComputedStyle(document.body).backgroundColor"
    plot = "getComputedStyle(document.querySelector('#map-picture .main-svg')).backgroundColor"
    opened = Opened(browser, page_file, color_scheme="dark")
    assert brightness(opened.page, paper) < 150
    assert brightness(opened.page, plot) < 150
    opened.page.emulate_media(media="print")
    opened.page.wait_for_function(f"{plot} === 'rgb(255, 255, 255)'")
    assert brightness(opened.page, paper) == 765
    assert opened.complaints == []
    opened.context.close()


def test_without_scripts_the_tables_are_there(browser, page_file, model):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert "need JavaScript" in page.locator("noscript").inner_text()
    rows = page.locator("#map tbody tr")
    assert rows.count() == model.n_clusters_ + 1  # and the outliers
    context.close()


def test_many_rows_need_webgl_and_still_answer(browser, tmp_path):
    """Beyond 3,000 rows points are drawn by WebGL, and hover still finds its row."""
    X, _, _ = make_clusters(2, 1600, 3, noise=0.1, random_state=0)
    model = FusionClustering(n_clusters=2).fit(X)
    found = read_findings(model)
    opened = Opened(browser, write_report(model, tmp_path / "many.html"))
    page = opened.page
    assert "scattergl" in page.evaluate("document.getElementById('map-picture').data.map((t) => t.type)")
    row = lonely_row(found)
    point_at(page, found.points[row], str(row))
    assert [text for text in opened.complaints if "GPU stall" not in text and "GL Driver" not in text] == []
    opened.context.close()
