"""``fusewise reproduce``: what is written, what is refused, and how it ends."""

import sys

import pytest
import typer
from typer.testing import CliRunner

from fusewise.cli._reproduce import reproduce

APP = typer.Typer()
APP.command()(reproduce)


def run(*arguments):
    return CliRunner().invoke(APP, [str(argument) for argument in arguments])


def test_a_figure(tmp_path):
    done = run("fig2", "--quick", "--out", tmp_path / "paper")
    assert done.exit_code == 0, done.output
    assert "closely approximate" in " ".join(done.output.split())
    assert "agrees" in done.output
    assert (tmp_path / "paper" / "index.html").is_file()
    again = run("fig2", "--quick", "--out", tmp_path / "paper")
    assert again.exit_code == 0


def test_a_folder_is_named_as_it_is(tmp_path, monkeypatch):
    """Rich would take [/x] for the end of a style, and end in an error."""
    monkeypatch.setattr("fusewise.reproduce.reproduce", lambda *names, **options: {})
    done = run("fig2", "--out", tmp_path / "[/x]")
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "[/x]") in done.output


@pytest.mark.parametrize("figure", ["fig9", "5", ""])
def test_unknown_figure(tmp_path, figure):
    done = run(figure, "--out", tmp_path / "paper")
    assert done.exit_code == 2
    assert "use one of fig1, fig2" in done.stderr
    assert not (tmp_path / "paper").exists()


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    done = run("fig2", "--out", tmp_path)
    assert done.exit_code == 2
    assert "contains other files" in done.stderr
    assert (tmp_path / "index.html").read_text() == "mine"
    assert run("fig2", "--out", tmp_path, "--force").exit_code == 0


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "paper").write_text("mine")
    for out in (tmp_path / "paper", tmp_path / "paper" / "below"):
        done = run("fig2", "--out", out)
        assert done.exit_code == 2
        assert "cannot write" in done.stderr
    assert (tmp_path / "paper").read_text() == "mine"


def test_ctrl_c(tmp_path, monkeypatch):
    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("fusewise.reproduce.reproduce", stopped)
    done = run("fig2", "--out", tmp_path / "paper")
    assert done.exit_code == 130
    assert "the same command resumes" in done.stderr


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("fusewise.reproduce")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("fig2", "--out", tmp_path / "paper")
    assert done.exit_code == 2
    assert 'pip install "fusewise[plot]"' in done.stderr
