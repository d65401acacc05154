"""What a reader does with the page, in two browsers and at three widths: select, filter, find, switch, save.

Copies, paper and the tree by keyboard are in ``test_report_taken_along.py``.
"""

import csv
import io
import json
from importlib.resources import files

import numpy as np
import pytest

from fusewise.views import read_findings
from fusewise.views._trees import row_tree

CHOSEN = "[...document.querySelectorAll('#rows-list tbody th')].map((e) => e.textContent)"


@pytest.fixture(scope="module")
def found(plant_model):
    return read_findings(plant_model, names=[f"plant {i}" for i in range(90)])


@pytest.fixture(autouse=True)
def fresh(tab):
    """Each test begins with the result, without a selection."""
    tab.js("document.querySelector('#rows-clear').click()")
    tab.js("document.querySelector('input[name=partition][value=\"0\"]').click()")
    tab.js("document.getElementById('map-first').click()")
    tab.settle()


def read_csv(content):
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def listed(tab):
    """Names of the rows in the list; waits for the page to have counted them."""
    return tab.js(CHOSEN)


def drag_mode(tab, mode):
    tab.js(f"document.querySelector('input[name=map-mode][value={mode}]').click()")
    tab.settle()


def test_nothing_is_cut_off_and_nobody_complains(tab):
    """Nothing scrolls sideways but folded tables, and every text of a picture is inside the picture."""
    assert tab.js("document.documentElement.scrollWidth <= innerWidth")
    assert tab.cut_texts() == []
    shown = "[...document.querySelectorAll('.wide')].filter((e) => e.checkVisibility())"
    assert tab.js(f"{shown}.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText)") == []
    assert tab.complaints == []


@pytest.mark.parametrize("mode", ["box", "lasso"])
def test_only_the_rows_inside_are_selected(tab, found, mode):
    """A shape in the midst of the rows: those to the left and right of it, above and below, are not selected."""
    places = tab.places(found.labels)
    low, high = np.quantile(places, [0.3, 0.75], axis=0).round() + 0.5
    inside = ((places > low) & (places < high)).all(axis=1)
    assert 0 < inside.sum() < 90
    assert ((places[:, 1] > low[1]) & (places[:, 1] < high[1]) & ~inside).any()
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    drag_mode(tab, mode)
    tab.drag([corners[0], corners[2]] if mode == "box" else corners)
    tab.wait("document.querySelector('#rows-words').textContent.includes('selected')")
    edge = np.abs(places[:, None] - [low, high]).min(axis=(1, 2)) < 1.5  # whole pixels: either is right
    chosen = np.isin(np.arange(90), [int(name.split()[1]) for name in listed(tab)])
    np.testing.assert_array_equal(chosen[~edge], inside[~edge])


def test_search_selects_by_name(tab):
    tab.fill("#find-row", "plant 1")
    tab.click("#find button")
    assert listed(tab) == ["plant 1"]
    assert tab.text("#row h3") == "plant 1"
    tab.fill("#find-row", "LANT 8")
    tab.click("#find button")
    assert listed(tab) == ["plant 8", *(f"plant 8{i}" for i in range(10))]
    tab.fill("#find-row", "no such plant")
    tab.click("#find button")
    assert tab.text("#find-words") == "No name contains this text."


def test_filters_show_the_rows_that_pass(tab, plants):
    """By a number, then also by a level, then also by cluster."""
    tab.fill("#filter-column", str(list(plants.columns).index("height, m")))
    tab.fill("#filter-how", "at least")
    tab.fill("#filter-value", "5")
    tab.click("#filter button")
    high = plants["height, m"] >= 5
    assert listed(tab) == [f"plant {i}" for i in np.flatnonzero(high)]
    tab.fill("#filter-column", str(list(plants.columns).index("soil")))
    tab.fill("#filter-how", "is")
    tab.fill("#filter-value", "clay")
    tab.click("#filter button")
    both = high & (plants["soil"] == "clay")
    assert listed(tab) == [f"plant {i}" for i in np.flatnonzero(both)]
    assert tab.text("#rows-words").endswith("where height, m is at least 5 and soil is clay.")
    tab.fill("#filter-value", "Lehm")
    tab.click("#filter button")
    assert tab.text("#find-words") == "No row has this value. The values are clay, sand."
    assert listed(tab) == [f"plant {i}" for i in np.flatnonzero(both)]
    tab.fill("#filter-how", "is missing")
    tab.click("#filter button")
    assert listed(tab) == []


def place_of_the_last_join(tab):
    """A point on the line that joins the two last branches of the tree, scrolled into view."""
    return tab.js(
        """(() => {
            const join = [...document.querySelectorAll('#table-picture .join')].at(-1);
            join.scrollIntoView({ block: 'center', behavior: 'instant' });
            const part = document.querySelector('.tall').getBoundingClientRect(), line = join.getBoundingClientRect();
            return [line.left + 1, (Math.max(part.top, line.top) + Math.min(part.bottom, line.bottom)) / 2];
        })()"""
    )


def test_a_branch_of_the_tree_selects_its_rows(tab, found):
    """The last join of two large branches: the rows under it are those of the tree."""
    table = row_tree(found)
    largest = max(table.joins, key=lambda join: join.end - join.begin)
    assert (largest.begin, largest.end) == (0, 90)
    tab.drag([place_of_the_last_join(tab)])
    tab.wait("document.querySelector('#rows-words').textContent.startsWith('90 rows selected')")


def test_a_click_counts_even_if_the_picture_is_drawn_again_while_the_button_is_down(tab):
    """As on a slow machine, where a picture follows an earlier choice late."""
    tab.push(place_of_the_last_join(tab))
    tab.js("document.querySelector('input[name=partition][value=\"0\"]').dispatchEvent(new Event('change'))")
    tab.settle()
    tab.release()
    tab.settle()
    assert tab.text("#rows-words").startswith("90 rows selected")


def test_another_number_of_clusters(tab, plant_model, plants):
    """Labels, legend, tables, sheets and files follow the switch."""
    tab.click("input[name=partition][value='1']")
    other = plant_model.alternatives()[0].labels
    assert len(tab.js("[...document.querySelectorAll('#map-legend button')].map((e) => e.textContent)")) == 2
    tab.click("#map-legend button:nth-child(2)")
    assert listed(tab) == [f"plant {i}" for i in np.flatnonzero(other == 1)]
    shown = tab.js(
        "[...document.querySelectorAll('.sheet h3')].filter((e) => e.checkVisibility()).map((e) => e.innerText)"
    )
    assert [text.strip().split(":")[0] for text in shown] == ["Cluster 0", "Cluster 1"]
    assert "instead of the 3 of the result" in tab.text("#clusters [data-partition='1']")
    name, content = tab.saved("button[data-export=labels]")
    assert name == "plants-labels.csv"
    assert [line[1] for line in read_csv(content)[1:]] == [str(label) for label in other]
    _, content = tab.saved("button[data-export=centers]")
    centers = {line[0]: dict(zip(read_csv(content)[0], line, strict=True)) for line in read_csv(content)[1:]}
    for k in (0, 1):
        assert float(centers[str(k)]["height, m"]) == pytest.approx(plants["height, m"][other == k].mean(), rel=1e-6)


def test_files_of_the_result(tab, plants, plant_model):
    """Labels, the completed table, the selection: what pandas reads from them is the table and the model."""
    _, content = tab.saved("button[data-export=labels]")
    head, *lines = read_csv(content)
    assert head == ["row", "label", "cluster_name", "confidence"]
    assert [int(line[1]) for line in lines] == plant_model.labels_.tolist()
    np.testing.assert_allclose([float(line[3]) for line in lines], plant_model.confidence_, atol=5.1e-5)

    _, content = tab.saved("button[data-export=completed]")
    head, *lines = read_csv(content)
    assert head == ["row", *plants.columns]
    for j, name in enumerate(plants.columns):
        for line, value in zip(lines, plants[name], strict=True):
            cell = line[j + 1]
            assert cell != ""
            if isinstance(value, str):
                assert cell == value
            elif value == value:
                assert float(cell) == value
            elif name in ("leaves", "soil"):
                assert cell in set(plants[name].dropna())

    tab.fill("#find-row", "plant 7")
    tab.click("#find button")
    name, content = tab.saved("button[data-export=selection]")
    head, line = read_csv(content)
    assert (name, line[0]) == ("plants-selection.csv", "plant 7")
    assert [cell == "" for cell in line[4:]] == plants.isna().loc[7].tolist()


def test_text_in_files_is_no_formula(tab):
    """Of the page's own functions, which its scripts keep to themselves."""
    script = (files("fusewise.views") / "web" / "export.js").read_text("utf-8")
    own = script[script.index("const isFormula") : script.index("const csv =")]

    def written(cells):
        return tab.js(f"(() => {{ {own}; return {cells}.map(csvCell); }})()")

    cells = ["=1+1", " @x", "+cmd|x", "-x", "\uff1d1", "a=b", "-3", "+1,5", "-2.5e-3", "-5%"]
    safe = ["'=1+1", "' @x", "'+cmd|x", "'-x", "'\uff1d1", "a=b", "-3", '"+1,5"', "-2.5e-3", "-5%"]
    assert written(json.dumps(cells)) == safe
    assert written("[-3, null, NaN, 2.5]") == ["-3", "", "", "2.5"]


def test_centres_beside_what_was_observed(tab, plants, plant_model):
    """The model's centres, and the means, medians and shares that pandas finds in the rows of each cluster."""
    _, content = tab.saved("button[data-export=centers]")
    head, *lines = read_csv(content)
    names = ["height, m", "seeds"]
    numbers = [f"{name}{kind}" for name in names for kind in ("", " (observed mean)", " (observed median)")]
    assert [name for name in head if name.startswith(tuple(names))] == numbers
    for k, line in enumerate(lines):
        mine, cells = plants[plant_model.labels_ == k], dict(zip(head, line, strict=True))
        assert (cells["cluster"], cells["size"]) == (str(k), str(len(mine)))
        center = dict(zip(plant_model.encoder_.features, plant_model.cluster_centers_[k], strict=True))
        shift, scale = (
            dict(zip(plant_model.encoder_.features, part, strict=True)) for part in plant_model.encoder_.units
        )
        for name in names:
            assert float(cells[name]) == pytest.approx(center[name] * scale[name] + shift[name], rel=1e-5)
            assert float(cells[f"{name} (observed mean)"]) == pytest.approx(mine[name].mean(), rel=1e-6)
            assert float(cells[f"{name} (observed median)"]) == pytest.approx(mine[name].median(), rel=1e-6)
        share = (mine["soil"] == "clay").sum() / mine["soil"].notna().sum()
        assert float(cells["soil=clay (observed share)"]) == pytest.approx(share, abs=1e-6)


def test_map_by_keyboard(tab):
    """Plus zooms, 0 returns to the first view."""
    image = "document.querySelector('#map-picture canvas').toDataURL()"
    tab.js("document.getElementById('map-picture').focus()")
    tab.settle()
    first = tab.js(image)
    tab.press("+")
    tab.wait(f"{image} !== {json.dumps(first)}")
    tab.press("0")
    tab.wait(f"{image} === {json.dumps(first)}")
