"""The page: whole, escaped, needing nothing from elsewhere, and written all or not at all."""

import base64
import json
from html.parser import HTMLParser

import pytest

from fusewise.reproduce import STUDIES, reproduce
from fusewise.reproduce.index_page import render
from fusewise.reproduce.study import Claim, Study, StudyResult, StudyTable


class Reader(HTMLParser):
    """Tags with their attributes, the text, and whether every tag is closed."""

    VOID = ("meta", "img", "br")

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("paper")
    reproduce(["fig2"], out, quick=True)
    return out


def test_files(folder):
    assert {path.name for path in folder.iterdir()} == {"index.html", "numbers.json", "fig2.svg", "trials"}
    numbers = json.loads((folder / "numbers.json").read_text())
    assert numbers["fig2"]["claims"][0]["verdict"] == "agrees"


def test_the_page_needs_no_other_file(folder):
    reader = Reader((folder / "index.html").read_text())
    assert reader.open == []
    links = [value for _, attrs in reader.tags for name, value in attrs.items() if name in ("src", "href")]
    assert links
    assert all(link.startswith(("data:image/", "#")) for link in links)
    assert not any(tag in ("script", "link", "iframe") for tag, _ in reader.tags)
    image = next(attrs for tag, attrs in reader.tags if tag == "img")
    assert image["alt"]
    assert base64.b64decode(image["src"].partition(",")[2]) == (folder / "fig2.svg").read_bytes()


def test_the_same_run_gives_the_same_page(folder, tmp_path):
    reproduce(["fig2"], tmp_path, quick=True)
    assert (tmp_path / "index.html").read_bytes() == (folder / "index.html").read_bytes()


def test_text_is_escaped():
    study = Study("fig9", "<b>bold</b>", "a & b", report=lambda outcomes: StudyResult([], []))
    found = StudyResult([], [Claim("x < y", '"quoted"', "differs", "<i>")], [StudyTable("T", ["<h>"], [["<c>"]])])
    reader = Reader(render([(study, found)], {}, quick=False))
    assert not any(tag in ("b", "i", "h", "c") for tag, _ in reader.tags)
    for words in ("x < y", '"quoted"', "<i>", "<c>", "differs 1", "full run"):
        assert words in reader.text


@pytest.mark.parametrize(
    ("names", "command"), [(["fig9"], "reproduce fig9 --quick"), (["fig8", "fig9"], "reproduce all")]
)
def test_the_page_names_the_command_that_made_it(names, command):
    studies = [Study(name, "a title", "settings", report=lambda outcomes: StudyResult([], [])) for name in names]
    page = render([(study, StudyResult([], [])) for study in studies], {}, quick=True)
    assert f"<code>fusewise {command}" in page


def test_unknown_figures_are_refused(tmp_path):
    with pytest.raises(ValueError, match=f"unknown figure 'fig9': use one of {', '.join(STUDIES)}"):
        reproduce(["fig9"], tmp_path)
    assert not list(tmp_path.iterdir())
