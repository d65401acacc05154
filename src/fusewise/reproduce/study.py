"""What a figure of the paper is here: trials to compute, then pictures, tables and claims made of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import fusewise
from fusewise.reproduce.trials import Outcomes, Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Verdict(StrEnum):
    """How a claim of the paper compares with what was measured."""

    AGREES = "agrees"
    IN_PART = "agrees in part"
    DIFFERS = "differs"


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was measured, and how the two compare.

    Attributes
    ----------
    paper : the paper's claim, in its words or nearly so.
    measured : the numbers.
    verdict : whether they bear it out.
    why : where they do not: why not, as far as is known.
    """

    paper: str
    measured: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class StudyTable:
    """Numbers behind a figure."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class PictureFile:
    """A drawing in a file.

    Attributes
    ----------
    name : of the file; it ends in .svg or .png.
    caption : what is to be seen; also read out to those who cannot see it.
    """

    name: str
    caption: str


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawing.

    Attributes
    ----------
    name : of its file, without the extension.
    figure : matplotlib's.
    caption : what is to be seen; also read out to those who cannot see it.
    vector : SVG; otherwise PNG, for pictures of thousands of points.
    """

    name: str
    figure: Figure
    caption: str
    vector: bool = True

    @property
    def file(self) -> PictureFile:
        """The file to which it is written."""
        return PictureFile(f"{self.name}.{'svg' if self.vector else 'png'}", self.caption)


@dataclass(frozen=True, eq=False)
class StudyResult:
    """What a study shows."""

    pictures: Sequence[Picture]
    claims: Sequence[Claim]
    tables: Sequence[StudyTable] = ()


@dataclass(frozen=True)
class Section:
    """What the page shows of a study; ``numbers.json`` keeps it, so that a later run can show it again.

    Attributes
    ----------
    claims, tables : as in ``StudyResult``.
    pictures : the files of its pictures.
    quick : whether the quick run made it.
    version : of the library that made it.
    """

    claims: Sequence[Claim]
    tables: Sequence[StudyTable]
    pictures: Sequence[PictureFile]
    quick: bool
    version: str

    @classmethod
    def of(cls, found: StudyResult, quick: bool) -> Section:
        """What this version of the library has found."""
        files = [picture.file for picture in found.pictures]
        return cls(found.claims, found.tables, files, quick, fusewise.__version__)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Section:
        """Read what ``dataclasses.asdict`` made of it; KeyError, TypeError or ValueError if it is something else."""
        claims = [Claim(**{**claim, "verdict": Verdict(claim["verdict"])}) for claim in kept["claims"]]
        tables = [StudyTable(**table) for table in kept["tables"]]
        pictures = [PictureFile(**picture) for picture in kept["pictures"]]
        return cls(claims, tables, pictures, bool(kept["quick"]), str(kept["version"]))


@dataclass(frozen=True, eq=False)
class Study:
    """A figure of the paper.

    Attributes
    ----------
    name, title : "fig5", and what it is about.
    settings : how it was done, in a few sentences, for the page.
    plan : trials of the quick (True) or the full (False) run.
    report : from their outcomes to pictures, claims and tables.
    """

    name: str
    title: str
    settings: str
    report: Callable[[Outcomes], StudyResult]
    plan: Callable[[bool], list[Trial]] = field(default=lambda quick: [])


def verdict(holds: bool, in_part: bool = False) -> Verdict:
    """The verdict on a claim that `holds`, or holds `in_part`."""
    return Verdict.AGREES if holds else Verdict.IN_PART if in_part else Verdict.DIFFERS
