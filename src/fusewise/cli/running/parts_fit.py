"""``fusewise fit --scheduler``: cluster a table whose parts are read and labelled by workers of Dask."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fusewise import FusionClustering
from fusewise.cli.exits import stopping_at_once
from fusewise.cli.running.fitting import Outputs
from fusewise.cli.running.schedulers import scheduling
from fusewise.cli.running.staging import staged, write_csv
from fusewise.cli.running.table_fit import unmet_notes
from fusewise.kernels import Stopwatch
from fusewise.observations import compute, dask_library
from fusewise.progress import Progress, listening
from fusewise.saving import save
from fusewise.support.errors import InputError
from fusewise.support.words import counted, some_of
from fusewise.tables import (
    STANDARD_INPUT,
    FrameEncoder,
    PartReader,
    Reading,
    ReadOptions,
    as_extra,
    center_table,
    files_of,
    read_sample,
    sampled_parts,
    sampled_rows,
)

#: Folder of the labels of the parts, and the file of the centres.
LABELS, CENTERS = "labels", "centers.csv"


@dataclass(frozen=True, eq=False)
class PartsFit:
    """Result of ``fit`` on a scheduler.

    Attributes
    ----------
    sample : rows from which the kinds of the columns were decided.
    model : the fitted estimator.
    sizes, outliers : number of rows in each cluster, and in none.
    n_parts, seconds : number of parts, and the time that fit and labels took.
    notes : remarks to show to the user.
    files, saved : the files that were written, and the file of the model among them, or None.
    """

    sample: Reading
    model: FusionClustering
    sizes: list[int]
    outliers: int
    n_parts: int
    seconds: float
    notes: list[str]
    files: list[Path]
    saved: Path | None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows, and of columns used for clustering."""
        return int(self.model.observations_.shape[0]), len(self.sample.used)

    @property
    def observed_fraction(self) -> float:
        """Fraction of observed values in the columns used."""
        counts, encoder = self.model.observations_.column_counts, self.model.encoder_
        # The features of a category are missing together.
        of_columns = (
            counts if encoder is None else [part[0, 0] for _, part in encoder.by_column(counts[None, :].astype(float))]
        )
        return float(np.mean(of_columns) / self.shape[0])


def run_parts_fit(path: Path, estimator: FusionClustering, outputs: Outputs, *, asked: ReadOptions, scheduler: str,
                  notes: Sequence[str] = (), tell: Progress) -> PartsFit:  # fmt: skip
    """Cluster a table in parts on a scheduler of Dask, and write the labels as Parquet, a part for each part."""
    _refuse_options(path, outputs)
    parts = files_of(path)
    targets = _label_files(outputs.folder, parts)
    files = [*targets, outputs.folder / CENTERS, *([] if outputs.save is None else [outputs.save])]
    watch = Stopwatch()
    with (
        staged(files, force=outputs.force, sources=parts) as places,
        stopping_at_once(),
        scheduling(scheduler),
        _reporting(),
        warnings.catch_warnings(),
        listening(tell),
    ):
        _refuse_other_labels(targets)
        warnings.simplefilter("ignore")  # what they say is in the notes
        tell(f"reading a sample of {counted(len(parts), 'part')}")
        sample = _sample(path, parts, asked)
        tell(f"clustering {counted(len(parts), 'part')} × {counted(len(sample.used), 'column')}")
        estimator.fit(_lazy_frame(sample, parts, asked))
        tell("labelling")
        counts = _write_labels(estimator, [places[target].absolute() for target in targets])
        tell("writing")
        sizes = [counts[k] for k in range(estimator.n_clusters_)]
        encoder = _in_words_of(sample, estimator.encoder_)
        centers = center_table(sample, encoder, sizes, estimator.cluster_centers_)
        write_csv(places[outputs.folder / CENTERS], centers, sample.dialect, safe=outputs.safe_csv)
        if outputs.save is not None:
            estimator.encoder_ = None if estimator.encoder_ is None else encoder
            save(estimator, places[outputs.save], extra=as_extra(sample))
    unmet = unmet_notes(estimator.n_clusters, estimator.n_clusters_)
    said = [*notes, *sample.notes, *_blank_note(estimator), *_known_note(sample), *unmet]
    return PartsFit(sample, estimator, sizes, counts[-1], len(parts), watch.working, said, files, outputs.save)


def _refuse_options(path: Path, outputs: Outputs) -> None:
    if str(path) == STANDARD_INPUT:
        raise InputError("standard input cannot be read by a scheduler: give a file, a pattern or a folder")
    for option, given in {"--report": outputs.report, "--stability": outputs.stability}.items():
        if given:
            raise InputError(f"{option} needs the table in memory, and cannot be used with --scheduler")


def _label_files(folder: Path, parts: Sequence[Path]) -> list[Path]:
    """A Parquet file for each part, with its name; numbered if two parts have the same name."""
    stems = [part.name.partition(".")[0] for part in parts]
    if len(set(stems)) < len(stems):
        stems = [f"part-{k:05d}" for k in range(len(parts))]
    return [folder / LABELS / f"{stem}.parquet" for stem in stems]


def _refuse_other_labels(targets: Sequence[Path]) -> None:
    """Raise ``InputError`` if the folder of the labels has those of parts that the table does not have."""
    folder = targets[0].parent
    others = sorted(file.name for file in set(folder.glob("*.parquet")) - set(targets))
    if others:
        raise InputError(
            f"{str(folder)!r} has labels of other parts ({some_of(others, 3)}), among which the new ones could not be "
            "told: choose another output, or delete them"
        )


@contextmanager
def _reporting() -> Iterator[None]:
    """Report errors of workers in one line."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise InputError(
            "workers were lost, probably for want of memory: use smaller parts or larger workers"
        ) from error
    except InputError as error:
        # The scheduler of processes adds a traceback to the message.
        raise InputError(str(error).partition("\n\nTraceback\n")[0]) from error


def _sample(path: Path, parts: Sequence[Path], asked: ReadOptions) -> Reading:
    some = sampled_parts(parts)
    take = dask_library().delayed(partial(sampled_rows, n_parts=len(some), asked=asked), pure=False)
    grids = compute([take(part.absolute(), k) for k, part in enumerate(some)])
    return read_sample(path, some, grids, asked, len(parts))


def _lazy_frame(sample: Reading, parts: Sequence[Path], asked: ReadOptions) -> Any:
    dd: Any = import_module("dask.dataframe")
    reader = PartReader.like(sample, parts[0], asked)
    return dd.from_map(reader, [part.absolute() for part in parts], meta=reader.header_frame, enforce_metadata=False)


def _in_words_of(sample: Reading, encoder: FrameEncoder | None) -> FrameEncoder:
    """The encoder with flags spelled as in the files: yes and no for True and False."""
    if encoder is None:
        return FrameEncoder.of(sample)
    columns = zip(sample.used, encoder.columns, strict=True)
    return FrameEncoder(
        tuple(
            replace(code, words=tuple(column.categories)) if column.is_boolean and len(code.levels) == 2 else code
            for column, code in columns
        )
    )


def _write_labels(model: FusionClustering, places: Sequence[Path]) -> Counter[int]:
    """Write the labels of each part, where it is, and count them."""
    write = dask_library().delayed(_write_part, pure=False)
    labels: Any = model.labels_
    confidence: Any = model.confidence_
    parts = zip(labels.to_delayed(), confidence.to_delayed(), places, strict=True)
    return sum(compute([write(*part) for part in parts]), Counter())


def _write_part(labels: Any, confidence: Any, place: Path) -> Counter[int]:
    frame = labels.to_frame("label").assign(confidence=confidence).reset_index()
    frame.to_parquet(place, index=False)
    return Counter(labels.tolist())


def _blank_note(model: FusionClustering) -> list[str]:
    table = model.observations_
    blank = table.shape[0] - table.n_seen
    rows = counted(blank, "row has", "rows have")
    fate = "assigned to no cluster, label -1" if model.outliers else "assigned to the likeliest cluster"
    return [f"{rows} no observed value: {fate}"] if blank else []


def _known_note(sample: Reading) -> list[str]:
    known = sample.labels_column
    note = "known classes are not compared with the clusters of a table that is not in memory"
    return [] if known is None else [f"column {known!r}: {note}"]
