"""Pictures on the clipboard, pages of paper, and the tree by keyboard, in two browsers and at three widths."""

import re
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
from browsers import ChromiumTab

from fusewise.views import read_findings
from fusewise.views._trees import row_tree

MAP_TOOLS = "#map-picture + .tools button"


def listed(tab):
    return tab.js("[...document.querySelectorAll('#rows-list tbody th')].map((e) => e.textContent)")


def test_a_picture_is_copied_as_svg(tab):
    """The clipboard holds the picture of the file: one marker for each row, and the legend."""
    tab.click(f"{MAP_TOOLS}:nth-child(3)")
    tab.wait(f"document.querySelector('{MAP_TOOLS}:nth-child(3)').textContent === 'Copied'")
    root = ElementTree.fromstring(tab.js("navigator.clipboard.readText()"))
    assert root.tag.endswith("svg")
    assert sum(e.get("transform", "").startswith("translate") for e in root.iter()) == 90 + 3


def test_the_tree_by_keyboard(tab, plant_model):
    """From the root down to the first branch, whose rows Enter selects; Escape leaves none selected."""
    table = row_tree(read_findings(plant_model, names=[f"plant {i}" for i in range(90)]))
    spans = sorted({(join.begin, -join.end) for join in table.joins})  # each branch before those under it
    tab.js("document.querySelector('#rows-clear').click()")
    tab.js("document.getElementById('table-picture').focus()")
    for key, at in (("ArrowRight", 0), ("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("ArrowLeft", 0)):
        tab.press(key)
        size = -spans[at][1] - spans[at][0]
        tab.wait(f"document.getElementById('tree-words').textContent.startsWith('Branch of {size} rows')")
        assert tab.js("document.querySelectorAll('#table-picture .reached').length") == 1
    tab.press("ArrowDown")
    tab.press("Enter")
    begin, end = spans[1][0], -spans[1][1]
    tab.wait(f"document.querySelector('#rows-words').textContent.startsWith('{end - begin} rows selected')")
    assert sorted(listed(tab)) == sorted(f"plant {row}" for row in table.rows[begin:end])
    tab.press("Escape")
    tab.wait("document.querySelector('#rows-words').textContent.startsWith('All 90 rows')")


def objects_of(pdf):
    """The objects of a PDF file as text; they may be compressed."""
    texts = [pdf]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            texts.append(zlib.decompressobj().decompress(stream))
        except zlib.error:
            continue
    return b"\n".join(texts)


def test_printing(tab):
    """The button prints. There is a page for each cluster at least, and one before them."""
    tab.js("(() => { window.print = () => { window.isPrinted = true; }; return true; })()")
    tab.click("button[data-export=print]")
    assert tab.js("window.isPrinted")
    assert len(re.findall(rb"/Type\s*/Page\b", objects_of(tab.printed()))) >= 5
    tab.wait("document.querySelector('#map-picture canvas') !== null")  # back on the screen


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_cluster_has_a_page(browser, plant_page, scheme):
    """By the outline of the PDF: the map is on the first page, and the clusters are on consecutive ones."""
    opened = ChromiumTab(browser, plant_page, 1280, color_scheme=scheme)
    text = objects_of(opened.page.pdf(prefer_css_page_size=True, outline=True, tagged=True)).decode("latin-1")
    kids = re.findall(r"/Type /Pages.*?/Kids \[(.*?)\]", text, re.DOTALL) or re.findall(r"/Kids \[(.*?)\]", text)
    order = [page for part in kids for page in re.findall(r"(\d+) 0 R", part) if f"\n{page} 0 obj" in text]
    pages = {
        title.strip(): order.index(page)
        for title, page in re.findall(r"/Title \(([^)]*)\)\s*/Dest \[(\d+) 0 R", text)
        if page in order
    }
    found = [next(page for title, page in pages.items() if title.startswith(f"Cluster {k}")) for k in range(3)]
    assert np.diff([pages["Clusters"], *found, pages["How sure"]]).tolist() == [1, 1, 1, 1]
    assert pages["Map"] == 0
    opened.close()
