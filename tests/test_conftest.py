"""Runs of the tests: they end with what was skipped for want of something, and tests do not disturb each other."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skipped import what_to_get

ROOT = Path(__file__).parents[1]


def test_a_sentence_for_each_thing():
    skips = [
        ("Skipped: no Chromium is installed: .ci/chromium puts one in place", False),
        ("Skipped: no Chromium is installed: .ci/chromium puts one in place", False),
        ("Skipped: no Firefox is installed: .ci/firefox puts one in place", False),
        ("Skipped: could not import 'torch': No module named 'torch'", True),
        ("Skipped: could not import 'torch': No module named 'torch'", False),
        ("Skipped: could not import 'nbformat': No module named 'nbformat'", True),
        ("Skipped: told by the name alone", False),
    ]
    assert what_to_get(skips) == [
        "Skipped for want of Chromium: 2 tests. To get it: .ci/chromium",
        "Skipped for want of Firefox: 1 test. To get it: .ci/firefox",
        "Skipped for want of nbformat: 1 whole file. To get it: in .venv, pip install --editable '.[test]'",
        "Skipped for want of torch: 1 test and 1 whole file. To get it: in .venv, pip install --editable '.[gpu]'",
    ]
    assert what_to_get([("Skipped: root may write anywhere", False)]) == []


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_the_ways_to_get_a_browser_are_there(browser):
    if not (ROOT / ".ci").exists():
        pytest.skip("no .ci beside these tests")
    assert (ROOT / ".ci" / browser).exists()


TESTS = """
import os
import pytest

@pytest.fixture(scope="session")
def browser():
    pytest.skip("no Chromium is installed: .ci/chromium puts one in place")

@pytest.mark.parametrize("n", range(3))
def test_page(browser, n):
    pass

def test_failing():
    assert False

def test_cores_are_shared(request):
    assert ("OMP_NUM_THREADS" in os.environ) == hasattr(request.config, "workerinput")
"""


def run_of(folder, text, *options):
    """What a run of some tests with this conftest prints; the last line has the counts."""
    for name in ("conftest.py", "skipped.py"):
        shutil.copy(Path(__file__).with_name(name), folder)
    (folder / "test_pages.py").write_text(text)
    (folder / "test_none.py").write_text("import pytest\n\npytest.importorskip('no_such_library')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, *options, folder]
    environment = {name: value for name, value in os.environ.items() if "_THREADS" not in name}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return done.stdout.splitlines()


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "two"])
def test_they_are_the_last_lines(tmp_path, options):
    """Also after those on failures."""
    if options:
        pytest.importorskip("xdist")
    *_, chromium, library, counts = run_of(tmp_path, TESTS, *options)
    assert chromium == "Skipped for want of Chromium: 3 tests. To get it: .ci/chromium"
    assert library.startswith("Skipped for want of no_such_library: 1 whole file.")
    assert "1 failed, 1 passed, 4 skipped" in counts


def test_nothing_is_said_of_nothing(tmp_path):
    lines = run_of(tmp_path, "def test_passing():\n    pass\n", "--ignore", "test_none.py")
    assert not any("want" in line for line in lines)


LEFT = """
import os

def test_careless():
    os.environ["FUSEWISE_LEFT"] = "a secret"

def test_careful(monkeypatch):
    monkeypatch.setenv("KEPT", "1")
"""


def test_a_test_that_leaves_something_behind_fails(tmp_path):
    *_, counts = lines = run_of(tmp_path, LEFT)
    assert "2 passed, 1 skipped, 1 error" in counts
    assert "the test left changed: environment ['FUSEWISE_LEFT']" in lines
    assert not any("secret" in line for line in lines)
