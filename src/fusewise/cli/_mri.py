"""Commands ``fusewise mri recon`` and ``fusewise mri simulate``. Not for diagnostic use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import BadZipFile

import typer

from fusewise.cli import _options as options
from fusewise.support import InputError, counted

if TYPE_CHECKING:
    from fusewise.mri import Scan


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Reconstruct dynamic MRI from a few percent of the samples. Not for diagnostic use.",
)

ScanFile = Annotated[
    Path,
    typer.Argument(
        metavar="SCAN", help="Scan file: ISMRMRD .h5 or .mrd, BART .cfl, .npz as written by simulate, or .npy."
    ),
]
Formats = Annotated[
    list[str] | None, typer.Option("--format", metavar="npy|cfl|nii", help="Format of the images (may be repeated).")
]


@app.command(epilog="Example: `fusewise mri recon scan.npz --out heart --format nii`")
def recon(
    scan_file: ScanFile,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results (default: SCAN_mri).")] = None,
    formats: Formats = None,
    lines_per_frame: Annotated[
        int, typer.Option(min=1, help="Readouts per frame, if the file does not number its frames.")
    ] = 10,
    coils: Annotated[int | None, typer.Option(min=1, help="Compress the coils to this many virtual coils.")] = None,
    method: Annotated[
        str, typer.Option(help="interpolation, or fusion (the paper's own; needs gridded k-space).")
    ] = "interpolation",
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda or auto.")] = "cpu",
    seed: options.RandomSeed = None,
    force: options.Overwrite = False,
    json: options.Json = False,
    verbose: options.Verbose = None,
) -> None:
    """Reconstruct a series of frames; all settings are chosen from the data.

    Writes the images, labels.csv (the cluster of each frame) and index.html: a movie, selected frames, a line through
    the image over time, the clusters and the sampling pattern.
    """
    from rich.text import Text

    from fusewise.cli._output import Result, facts, staged, working
    from fusewise.kernels import Stopwatch, announcing
    from fusewise.mri import IMAGE_FILES, reconstruct, write_images
    from fusewise.progress import listening
    from fusewise.views import PAGE_FILES, WARNING, write_mri_page

    wanted = list(dict.fromkeys(formats or ["npy"]))
    unknown = [name for name in wanted if name not in IMAGE_FILES]
    if unknown:
        raise InputError(f"unknown --format {unknown[0]!r}: use one of {', '.join(IMAGE_FILES)}")
    scan, watch = _read(scan_file, lines_per_frame, coils), Stopwatch()
    folder = Path(f"{scan_file.stem}_mri") if out is None else out
    names = [*(name for kind in wanted for name in IMAGE_FILES[kind]), "labels.csv", *PAGE_FILES]
    targets = [folder / name for name in names]
    settings: dict[str, Any] = {"device": device, "random_state": seed, "verbose": 1 if verbose else 0}
    with (
        working(shown=verbose is None and not json) as tell,
        _reporting_scan_errors(scan_file),
        listening(tell),
        announcing(tell),
        staged(targets, force=force, sources=[scan_file]) as places,
    ):
        found = reconstruct(scan.kspace, scan.mask, scan.trajectory, scan.maps, method=method, **settings)
        for kind in wanted:
            write_images(places[folder / IMAGE_FILES[kind][0]], found.images)
        rows = [f"{frame},{label}\n" for frame, label in enumerate(found.labels)]
        places[folder / "labels.csv"].write_text("".join(["frame,cluster\n", *rows]), encoding="utf-8")
        write_mri_page(places[folder / "index.html"].parent, found, scan, scan_file.name)
    (n_frames, *shape), n_clusters = found.images.shape, len(set(found.labels.tolist()))
    data = {
        "scan": str(scan_file),
        "frames": n_frames,
        "shape": shape,
        "clusters": n_clusters,
        "method": found.method,
        "lam": found.lam,
        "sigma": found.sigma,
        "rank": found.rank,
        "held_out_decibels": found.local.score,
        "seconds": watch.working,
        "files": [str(file) for file in targets],
        "warning": WARNING,
    }
    size = f"{n_frames} frames of {shape[0]} x {shape[1]} in {counted(n_clusters, 'cluster')}"
    how = f"rank {found.rank}, lam {found.lam:.3g}, {watch.working:.1f} s"
    warning = Text(WARNING, "bold yellow")
    if json or verbose is not False:
        Result(data, [size, facts({"fit": how}, written=targets), warning]).show(json=json)


@app.command(epilog="Example: `fusewise mri simulate scan.npz --frames 300 --coils 8`")
def simulate(
    out: Annotated[Path, typer.Argument(metavar="SCAN", help="The .npz file to write.")],
    frames: Annotated[int, typer.Option(min=3, help="Number of frames, 40 ms apart.")] = 200,
    size: Annotated[int, typer.Option(min=8, help="Pixels along each side of the image.")] = 96,
    golden: Annotated[int, typer.Option(min=0, help="Lines per frame rotated by the golden angle.")] = 6,
    navigators: Annotated[int, typer.Option(min=0, help="Lines per frame at fixed angles.")] = 4,
    noise: Annotated[
        float, typer.Option(min=0, help="Standard deviation of the noise, as a fraction of the brightest pixel.")
    ] = 0.01,
    coils: Annotated[int, typer.Option(min=1, help="Number of coils; 1: samples on a grid, more: radial samples.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for heartbeat, breathing and noise.")] = 0,
    force: options.Overwrite = False,
) -> None:
    """Simulate a scan of a beating, breathing phantom; the true images are stored in the same file."""
    from fusewise.cli._output import staged, working
    from fusewise.mri import simulate_scan, write_scan

    if out.suffix != ".npz":
        raise InputError(f"the name of the scan file must end in .npz, got {str(out)!r}")
    with staged([out], force=force) as places, working(shown=True) as tell, _reporting_scan_errors(out):
        tell("simulating the scan")
        scan, truth = simulate_scan(
            frames, size, golden=golden, navigators=navigators, noise=noise, coils=coils, random_state=seed
        )
        write_scan(places[out], scan, **truth)
    print(f"written  {out}  ({frames} frames of {size} x {size}, {counted(coils, 'coil')})")


def _read(path: Path, lines_per_frame: int, coils: int | None) -> Scan:
    """Read a scan, and compress its coils if requested."""
    import numpy as np

    from fusewise.mri import compress_coils, read_scan

    with _reporting_scan_errors(path):
        scan = read_scan(path, lines_per_frame=lines_per_frame)
    several = scan.kspace.shape[1] if scan.trajectory is not None or scan.kspace.ndim == 4 else 1
    if coils is None or coils >= several:
        return scan
    kspace, weights = compress_coils(scan.kspace, coils)
    return replace(scan, kspace=kspace, maps=None if scan.maps is None else np.tensordot(weights, scan.maps, 1))


@contextmanager
def _reporting_scan_errors(path: Path) -> Iterator[None]:
    """Report an invalid scan, or a missing library, as an ``InputError`` that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error) if path.name in str(error) else f"{path.name}: {error}") from error
    except FileNotFoundError as error:
        raise InputError(f"file {str(path)!r} does not exist") from error
    except (OSError, BadZipFile) as error:
        raise InputError(f"cannot read {str(path)!r}: {error}") from error
    except ImportError as error:
        raise InputError(str(error)) from error
