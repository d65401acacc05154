"""The page in a real, headless Chromium, without a network: what it says, and that nothing of the table runs in it."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from browsers import ChromiumTab
from report_helpers import NASTY_COLUMN, NASTY_ROW
from scipy.spatial import cKDTree

from fusewise.views import _report as report
from fusewise.views import read_findings


@pytest.fixture(scope="module")
def opened(browser, page_file):
    opened = ChromiumTab(browser, page_file, 1280)
    yield opened
    opened.close()


@pytest.fixture
def page(opened):
    return opened.page


def picture(page):
    return page.evaluate("document.querySelector('#path-picture canvas').toDataURL()")


def go_to(opened, step):
    """Move the slider as a reader does, and wait for the picture to arrive."""
    opened.page.locator("#path-slider").fill(str(step))
    opened.wait(f"document.getElementById('path-picture').dataset.step === '{step}'")


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


def test_slider_moves_change_the_picture(opened, model):
    page, trail = opened.page, read_findings(model).trail
    seen, cursors = {}, []
    for step in (0, trail.chosen, len(trail.steps) - 1):
        go_to(opened, step)
        seen[step] = picture(page)
        words = page.locator("#path-words").inner_text()
        assert words.startswith(f"Step {step + 1} of {len(trail.steps)}")
        assert ("this is the chosen step" in words) == (step == trail.chosen)
        cursors.append(page.locator("#path-criterion .cursor").bounding_box()["x"])
    assert len(set(seen.values())) == 3
    assert cursors == sorted(cursors)


def test_slider_by_keyboard(opened):
    page = opened.page
    go_to(opened, 0)
    page.locator("#path-slider").focus()
    page.keyboard.press("ArrowRight")
    opened.wait("document.getElementById('path-picture').dataset.step === '1'")
    assert page.locator("#path-slider").get_attribute("aria-valuetext").startswith("Step 2")
    page.locator("#path-chosen").focus()
    page.keyboard.press("Enter")
    opened.wait("document.getElementById('path-words').textContent.includes('chosen')")


def point_at(opened, found, row):
    """Move the pointer to a row of the map, and wait for its name (others may be said on the way)."""
    x, y = opened.places(found.labels[found.drawn])[row]
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
    opened.page.mouse.click(*opened.places(found.labels[found.drawn])[row])
    where = int(found.drawn[row])
    opened.wait(f"document.querySelector('#row h3')?.textContent === {json.dumps(names[where])}")
    (why,) = model.explain(table, rows=[where])
    lines = [line.split("\t") for line in opened.page.locator("#row tbody tr").all_inner_texts()]
    shown = np.full(table.shape[1], np.nan)
    for name, value, *adds in lines:
        j = 0 if name == NASTY_COLUMN else int(name.split()[1])
        assert value.startswith("missing") != bool(adds)
        if adds:
            shown[j] = float(value.replace("−", "-"))
            assert float(adds[0].replace("−", "-")) == pytest.approx(why.nats[why.positions.index(j)], abs=0.0051)
    np.testing.assert_allclose(shown, table[where], rtol=5.1e-3)  # three digits
    adds = [abs(float(each[2].replace("−", "-"))) for each in lines if len(each) == 3]
    assert adds == sorted(adds, reverse=True)
    words = opened.page.locator("#row p").nth(1).inner_text()
    assert words.startswith(f"Cluster {why.cluster} rather than {why.runner_up}: ")
    opened.js("document.getElementById('rows-clear').click()")


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


@pytest.mark.parametrize(
    ("low", "high", "options", "texts"),
    [
        (2007, 2010, "format: (value) => value.toFixed(0)", "2007 2008 2009 2010"),
        (0, 3, "format: (value) => value.toFixed(0)", "0 1 2 3"),
        (0.5, 12.5, "format: String, whole: true", "5 10"),
        (0.5, 12.5, "format: String", "2.5 5 7.5 10 12.5"),
    ],
)
def test_no_two_ticks_read_the_same(page, low, high, options, texts):
    """Of whole numbers, and of numbers written without decimals, there are no ticks between whole ones."""
    scales = Path(report.__file__).with_name("web") / "scales.js"
    asked = f"linearScale([{low}, {high}], [0, 300], {{ {options} }})"
    told = f"(() => {{ {scales.read_text()}; return {asked}.ticks.map((tick) => tick.text).join(' '); }})()"
    assert page.evaluate(told) == texts
