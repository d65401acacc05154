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
from fusewise.cli._exits import guarded, stopping_at_once
from fusewise.support import InputError, counted

if TYPE_CHECKING:
    from fusewise.mri import Reconstruction, Scan


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
@guarded
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
    from fusewise.cli import _terminal as console
    from fusewise.kernels import Stopwatch, announcing
    from fusewise.progress import listening

    scan = read(scan_file, lines_per_frame, coils)
    folder = Path(f"{scan_file.stem}_mri") if out is None else out
    wanted, watch = _wanted(formats), Stopwatch()
    with (
        console.working(shown=verbose is None and not json) as tell,
        stopping_at_once(),
        reporting_scan_errors(scan_file),
        listening(tell),
        announcing(tell),
    ):
        settings = {"device": device, "random_state": seed, "verbose": 1 if verbose else 0, "method": method}
        found, targets = _reconstruct(scan, scan_file, folder, wanted, settings, force=force)
    summary = recon_data(scan_file, found, targets, watch.working)
    if json:
        console.print_json(summary)
    elif verbose is not False:
        print_recon(summary)


def _wanted(formats: list[str] | None) -> list[str]:
    """The formats asked for, each once; an unknown one is refused."""
    from fusewise.mri import IMAGE_FILES

    wanted = list(dict.fromkeys(formats or ["npy"]))
    unknown = [name for name in wanted if name not in IMAGE_FILES]
    if unknown:
        raise InputError(f"unknown --format {unknown[0]!r}: use one of {', '.join(IMAGE_FILES)}")
    return wanted


def _reconstruct(
    scan: Scan, scan_file: Path, folder: Path, formats: list[str], settings: dict[str, Any], *, force: bool
) -> tuple[Reconstruction, list[Path]]:
    """Reconstruct a scan and write images, labels and page: all of them or none."""
    from fusewise.cli._output import staged
    from fusewise.mri import IMAGE_FILES, reconstruct, write_images
    from fusewise.views import PAGE_FILES, write_mri_page

    names = [*(name for kind in formats for name in IMAGE_FILES[kind]), "labels.csv", *PAGE_FILES]
    targets = [folder / name for name in names]
    with staged(targets, force=force, sources=[scan_file]) as places:
        found = reconstruct(scan.kspace, scan.mask, scan.trajectory, scan.maps, **settings)
        for kind in formats:
            write_images(places[folder / IMAGE_FILES[kind][0]], found.images)
        rows = [f"{frame},{label}" for frame, label in enumerate(found.labels)]
        places[folder / "labels.csv"].write_text("\n".join(["frame,cluster", *rows]) + "\n", encoding="utf-8")
        write_mri_page(places[folder / "index.html"].parent, found, scan, scan_file.name)
    return found, targets


@app.command(epilog="Example: `fusewise mri simulate scan.npz --frames 300 --coils 8`")
@guarded
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
    from fusewise.cli import _terminal as console
    from fusewise.cli._output import staged
    from fusewise.mri import simulate_scan, write_scan

    if out.suffix != ".npz":
        raise InputError(f"the name of the scan file must end in .npz, got {str(out)!r}")
    with staged([out], force=force) as places, console.working(shown=True) as tell, reporting_scan_errors(out):
        tell("simulating the scan")
        scan, truth = simulate_scan(
            frames, size, golden=golden, navigators=navigators, noise=noise, coils=coils, random_state=seed
        )
        write_scan(places[out], scan, **truth)
    print(f"written  {out}  ({frames} frames of {size} x {size}, {counted(coils, 'coil')})")


def read(path: Path, lines_per_frame: int, coils: int | None) -> Scan:
    """Read a scan, and compress its coils if requested."""
    import numpy as np

    from fusewise.mri import compress_coils, read_scan

    with reporting_scan_errors(path):
        scan = read_scan(path, lines_per_frame=lines_per_frame)
    several = scan.kspace.shape[1] if scan.trajectory is not None or scan.kspace.ndim == 4 else 1
    if coils is None or coils >= several:
        return scan
    kspace, weights = compress_coils(scan.kspace, coils)
    return replace(scan, kspace=kspace, maps=None if scan.maps is None else np.tensordot(weights, scan.maps, 1))


@contextmanager
def reporting_scan_errors(path: Path) -> Iterator[None]:
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


def recon_data(path: Path, found: Reconstruction, files: list[Path], seconds: float) -> dict[str, Any]:
    """The result as a JSON-serialisable dictionary."""
    from fusewise.views import WARNING

    return {
        "scan": str(path),
        "frames": len(found.images),
        "shape": list(found.images.shape[1:]),
        "clusters": len(set(found.labels.tolist())),
        "method": found.method,
        "lam": found.lam,
        "sigma": found.sigma,
        "rank": found.rank,
        "held_out_decibels": found.local.score,
        "seconds": seconds,
        "files": [str(file) for file in files],
        "warning": WARNING,
    }


def print_recon(summary: dict[str, Any]) -> None:
    """Print the summary of a reconstruction."""
    from fusewise.cli._terminal import Terminal

    out = Terminal()
    rows, columns = summary["shape"]
    out.print(f"{summary['frames']} frames of {rows} x {columns} in {counted(summary['clusters'], 'cluster')}")
    out.print(f"rank {summary['rank']}, lam {summary['lam']:.3g}, {summary['seconds']:.1f} s", style="dim")
    out.print(f"written  {', '.join(summary['files'])}", soft_wrap=True, markup=False)
    out.print(summary["warning"], style="bold yellow")
