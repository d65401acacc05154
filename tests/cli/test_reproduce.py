"""``fusewise reproduce``: what is written, what is refused, and how it ends."""

import pytest


def test_a_figure(run, tmp_path):
    """Also into a folder that Rich would take for the end of a style, and end in an error."""
    done = run("reproduce", "fig2", "--quick", "--out", tmp_path / "[/x]")
    assert done.code == 0, done.out
    assert "closely approximate" in " ".join(done.out.split())
    assert "agrees" in done.out
    assert str(tmp_path / "[/x]") in done.out
    assert (tmp_path / "[/x]" / "index.html").is_file()
    again = run("reproduce", "fig2", "--quick", "--out", tmp_path / "[/x]")
    assert again.code == 0


@pytest.mark.parametrize("figure", ["fig9", "5", ""])
def test_unknown_figure(run, tmp_path, figure):
    done = run("reproduce", figure, "--out", tmp_path / "paper")
    assert done.code == 2
    assert "use one of fig2, fig3" in done.err
    assert not (tmp_path / "paper").exists()


def test_a_folder_of_other_files_is_left_alone(run, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    done = run("reproduce", "fig2", "--out", tmp_path)
    assert done.code == 2
    assert "contains other files" in done.err
    assert (tmp_path / "index.html").read_text() == "mine"
    assert run("reproduce", "fig2", "--out", tmp_path, "--force").code == 0


def test_a_file_in_the_way(run, tmp_path):
    (tmp_path / "paper").write_text("mine")
    for out in (tmp_path / "paper", tmp_path / "paper" / "below"):
        done = run("reproduce", "fig2", "--out", out)
        assert done.code == 2
        assert "cannot write" in done.err
    assert (tmp_path / "paper").read_text() == "mine"
