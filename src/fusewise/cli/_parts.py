"""``fusewise fit --scheduler``: a table whose parts are read, clustered and labelled by workers of Dask."""

from __future__ import annotations

import signal
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np

from fusewise import FusionClustering
from fusewise.cli._fit import Outputs, blank_note, unmet_notes
from fusewise.cli._output import Result, cluster_list, column_list, columns_data, facts, headline, staged, write_csv
from fusewise.kernels import Stopwatch, available_memory
from fusewise.observations import compute, dask_library
from fusewise.progress import Progress, listening
from fusewise.saving import save
from fusewise.support import InputError, counted, in_words, some_of
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

#: Bytes that a table takes in memory for each byte of its files. Measured: 13 for CSV files of numbers with 17 digits,
#: 24 with 4 digits, 16 for Parquet files of random numbers.
IN_MEMORY = 25

#: Schedulers of Dask in this process or beside it, and a cluster of workers on this machine.
SIMPLE, LOCAL = ("threads", "processes", "synchronous"), "local"

#: Seconds in which a scheduler must answer.
PATIENCE = 10

#: Time in which a worker that has died must be back. Dask waits for 15 seconds; on a busy machine a start takes longer,
#: and when all workers are given up a computation waits for ever.
BACK = "10 minutes"

#: Freed bytes that a worker keeps for its next arrays, and the largest array that is taken from them. Dask has workers
#: return freed memory at once, and then each temporary array costs as many page faults as it has pages.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**25}


def exceeding(parts: Sequence[Path]) -> str | None:
    """A note on parts that exceed memory; None if they do not."""
    size = sum(file.stat().st_size for file in parts)
    if size * IN_MEMORY <= available_memory():
        return None
    return f"the parts ({in_words(size)}) would take more than the available memory: a local cluster is used"


@contextmanager
def scheduling(asked: str) -> Iterator[None]:
    """Compute with ``dask`` on a scheduler: "threads", "processes", "synchronous", "local" or an address.

    Workers of a local cluster end with the block. Without Dask, or if no scheduler answers, it is an ``InputError``.
    """
    try:
        dask, distributed = dask_library(), import_module("distributed")
    except ImportError as error:
        raise InputError('--scheduler needs Dask: pip install "fusewise[dask]"') from error
    if asked in SIMPLE:
        with dask.config.set(scheduler=asked):
            yield
    elif asked == LOCAL:
        with local_cluster():
            yield
    else:
        try:
            client = distributed.Client(asked, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:  # a timeout is an OSError, an address that is none a ValueError
            others = ", ".join((*SIMPLE, LOCAL))
            raise InputError(
                f"--scheduler {asked!r}: no scheduler answers there; give an address such as tcp://host:8786, or one "
                f"of {others}"
            ) from error
        with client, client.as_current():
            yield


@contextmanager
def local_cluster(n_workers: int | None = None, memory_limit: str = "auto") -> Iterator[Any]:
    """A ``distributed.Client`` of workers on this machine (one for each core), each with one thread.

    They end with the block.
    """
    config, distributed = dask_library().config, import_module("distributed")
    setting, n_workers = "distributed.nanny.pre-spawn-environ", n_workers or import_module("dask.system").CPU_COUNT
    own = {"threads_per_worker": 1, "memory_limit": memory_limit, "dashboard_address": "127.0.0.1:0"}
    changed = {setting: {**config.get(setting, {}), **ALLOCATOR}, "distributed.deploy.lost-worker-timeout": BACK}
    with config.set(changed), ExitStack() as stack:
        with _holding_back_ctrl_c():
            cluster = stack.enter_context(distributed.LocalCluster(n_workers=n_workers, **own))
        yield stack.enter_context(distributed.Client(cluster))


@contextmanager
def _holding_back_ctrl_c() -> Iterator[None]:
    """Block Ctrl-C until the end of the block: processes that start in it never receive it.

    Every process of a terminal does otherwise, and a worker that is still being started would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    resource_tracker.ensure_running()  # a thread that starts it lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


#: Folder of the labels of the parts, and the file of the centres.
LABELS, CENTERS = "labels", "centers.csv"


def run_parts_fit(path: Path, estimator: FusionClustering, outputs: Outputs, *, asked: ReadOptions, scheduler: str,
                  note: str | None, tell: Progress) -> Result:  # fmt: skip
    """Cluster a table in parts on a scheduler of Dask, and write the labels as Parquet, a part for each part."""
    _refuse_options(path, outputs)
    parts = files_of(path)
    labels, saved = _label_files(outputs.folder, parts), outputs.save
    others = [outputs.folder / CENTERS, *([] if saved is None else [saved])]
    watch = Stopwatch()
    with (
        staged([*labels, *others], force=outputs.force, sources=parts) as places,
        scheduling(scheduler),
        _reporting(),
        warnings.catch_warnings(),
        listening(tell),
    ):
        _refuse_other_labels(labels)
        warnings.simplefilter("ignore")  # what they say is in the notes
        tell(f"reading a sample of {counted(len(parts), 'part')}")
        some = sampled_parts(parts)
        take = dask_library().delayed(partial(sampled_rows, n_parts=len(some), asked=asked), pure=False)
        grids = compute([take(part.absolute(), k) for k, part in enumerate(some)])
        sample = read_sample(path, some, grids, asked, len(parts))
        tell(f"clustering {counted(len(parts), 'part')} × {counted(len(sample.used), 'column')}")
        estimator.fit(**_lazy_frames(sample, parts, asked))
        tell("labelling")
        counts = _write_labels(estimator, [places[target].absolute() for target in labels])
        tell("writing")
        sizes = [counts[k] for k in range(estimator.n_clusters_)]
        encoder = FrameEncoder.of(sample) if estimator.encoder_ is None else estimator.encoder_.spelled(sample)
        centers = center_table(sample, encoder, sizes, estimator.cluster_centers_)
        write_csv(places[outputs.folder / CENTERS], centers, sample.dialect, safe=outputs.safe_csv)
        if saved is not None:
            estimator.encoder_ = None if estimator.encoder_ is None else encoder
            save(estimator, places[saved], extra=as_extra(sample))
    table, known = estimator.observations_, sample.labels_column
    (n_rows, _), n_columns = table.shape, len(sample.used)
    empty = n_rows - table.n_seen
    said = [*([] if note is None else [note]), *sample.notes]
    if empty:
        said.append(blank_note(empty, estimator.outliers))
    if known is not None:
        said.append(f"column {known!r}: known classes are not compared with the clusters of a table in parts")
    said += unmet_notes(estimator.n_clusters, estimator.n_clusters_)
    seen = table.moments.counts
    if estimator.encoder_ is not None:  # the features of a category are missing together
        seen = [part[0, 0] for _, part in estimator.encoder_.by_column(seen[None, :].astype(float))]
    observed = float(np.mean(seen) / n_rows)
    data = {
        "table": str(path),
        "parts": len(parts),
        "rows": n_rows,
        "features": n_columns,
        "observed_fraction": observed,
        "columns": columns_data(sample),
        "clusters": estimator.n_clusters_,
        "sizes": sizes,
        "outliers": counts[-1],
        "converged": estimator.converged_,
        "seconds": watch.working,
        "limits": estimator.limits_,
        "notes": said,
        "files": [str(file) for file in (*labels, *others)],
        "model": None if saved is None else str(saved),
    }
    rows = {"columns": f"as in a sample of {counted(sample.n_rows, 'row')}", "time": f"{data['seconds']:.1f} s"}
    written = [f"{labels[0].parent}: {counted(len(parts), 'file')}, one for each part", *others]
    last = facts(rows, limits=estimator.limits_, written=written, notes=said)
    first = headline(path, n_rows, n_columns, observed, parts=len(parts))
    clusters = cluster_list(sizes, counts[-1], empty if estimator.outliers else 0)
    return Result(data, [first, column_list(sample), clusters, last])


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


def _lazy_frames(sample: Reading, parts: Sequence[Path], asked: ReadOptions) -> dict[str, Any]:
    """The table, and the error, lower and upper of its entries, of which a part without any has None."""
    dd: Any = import_module("dask.dataframe")
    reader = PartReader.like(sample, parts[0], asked)
    loosely = {"meta": reader.header_frame, "enforce_metadata": False}
    frames = dd.from_map(reader, [part.absolute() for part in parts], **loosely)  # a part is read once for all four
    named = {"X": "rows", "error": "error", "lower": "lower", "upper": "upper"}
    return {name: frames.map_partitions(dict.get, what, **loosely) for name, what in named.items()}


def _write_labels(model: FusionClustering, places: Sequence[Path]) -> Counter[int]:
    """Write the labels of each part, where it is, and count them."""
    write = dask_library().delayed(_write_part, pure=False)
    labels: Any = model.labels_
    confidence: Any = model.confidence_
    both = (rows.to_delayed(optimize_graph=False) for rows in (labels, confidence))  # optimized, each reads the parts
    parts = zip(*both, places, strict=True)
    return sum(compute([write(*part) for part in parts]), Counter())


def _write_part(labels: Any, confidence: Any, place: Path) -> Counter[int]:
    frame = labels.to_frame("label").assign(confidence=confidence).reset_index()
    frame.to_parquet(place, index=False)
    return Counter(labels.tolist())
