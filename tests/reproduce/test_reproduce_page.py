"""The page: whole, escaped, needing nothing from elsewhere, and written all or not at all."""

import base64
from html.parser import HTMLParser

import pytest

from fusewise.reproduce import STUDIES, StudyResult, reproduce
from fusewise.reproduce._run import Section, render
from fusewise.reproduce._study import Claim, Study, StudyTable


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
    assert {path.name for path in folder.iterdir()} == {"index.html", "fig2.svg", "trials"}
    assert "agrees 1," in Reader((folder / "index.html").read_text()).text


def test_the_page_needs_no_other_file(folder):
    reader = Reader((folder / "index.html").read_text())
    assert reader.open == []
    links = [value for _, attrs in reader.tags for name, value in attrs.items() if name in ("src", "href")]
    assert links
    assert all(link.startswith(("data:image/", "#")) for link in links)
    assert not any(tag in ("script", "link", "iframe") for tag, _ in reader.tags)
    assert all(attrs["alt"] for tag, attrs in reader.tags if tag == "img")


def test_the_same_run_gives_the_same_page(folder, tmp_path):
    reproduce(["fig2"], tmp_path, quick=True)
    assert (tmp_path / "index.html").read_bytes() == (folder / "index.html").read_bytes()


def a_study(name="fig9", title="a title"):
    return Study(name, title, "a & b", report=lambda outcomes: StudyResult([], []))


def test_text_is_escaped():
    claims, tables = [Claim("x < y", '"quoted"', "differs", "<i>")], [StudyTable("T", ["<h>"], [["<c>"]])]
    section = Section(a_study(title="<b>bold</b>"), StudyResult([], claims, tables), quick=False)
    reader = Reader(render([section], {}))
    assert not any(tag in ("b", "i", "h", "c") for tag, _ in reader.tags)
    for words in ("x < y", '"quoted"', "<i>", "<c>", "differs 1", "full run"):
        assert words in reader.text


def test_a_second_run_keeps_the_figures_of_the_first(tmp_path):
    """Whatever is asked for first, and with the full run beside the quick one."""
    reproduce(["fig4"], tmp_path, quick=True, jobs=1)
    reproduce(["fig2"], tmp_path, quick=False)
    reader = Reader((tmp_path / "index.html").read_text())
    assert [attrs["id"] for tag, attrs in reader.tags if tag == "h2"] == ["fig2", "fig4"]
    assert "fusewise reproduce fig2, " in reader.text
    assert "fusewise reproduce fig4 --quick, " in reader.text
    images = [base64.b64decode(attrs["src"].partition(",")[2]) for tag, attrs in reader.tags if tag == "img"]
    pictures = [path.read_bytes() for path in tmp_path.iterdir() if path.suffix in (".svg", ".png")]
    assert sorted(images) == sorted(pictures)


def test_unknown_figures_are_refused(tmp_path):
    with pytest.raises(ValueError, match=f"unknown figure 'fig9': use one of {', '.join(STUDIES)}"):
        reproduce(["fig9"], tmp_path)
    assert not list(tmp_path.iterdir())
