"""The tutorial runs from top to bottom, and its cells carry no stale results."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

TUTORIAL = Path(__file__).parents[1] / "examples" / "tutorial.ipynb"


@pytest.fixture(scope="module")
def run():
    """The notebook, executed."""
    notebook = nbformat.read(TUTORIAL, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


def printed(notebook, word):
    """The line of output that holds a word."""
    lines = [
        line
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream"
        for line in output.text.splitlines()
    ]
    return next(line for line in lines if word in line)


def test_it_finds_the_cultivars(run):
    assert printed(run, "clusters:").startswith("clusters: 3 ")
    assert float(printed(run, "agreement with").rsplit(maxsplit=1)[-1]) > 0.7


def test_filled_values_beat_column_means(run):
    words = printed(run, "root mean square error").replace(")", "").replace("(", "").split()
    assert float(words[4]) < float(words[-1])


def test_pictures_are_drawn(run):
    images = [o for c in run.cells if c.cell_type == "code" for o in c.outputs if "image/png" in o.get("data", {})]
    assert len(images) == 2


def test_it_is_kept_without_results():
    cells = nbformat.read(TUTORIAL, as_version=4).cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells if cell.cell_type == "code")
