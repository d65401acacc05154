"""``fusewise mri recon`` and ``fusewise mri simulate``. Not for diagnostic use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import BadZipFile

import typer

from fusewise.cli.errors import blaming_input, guarded, stopping_at_once
from fusewise.tables.errors import InputError

if TYPE_CHECKING:
    from fusewise.mri import Reconstruction
    from fusewise.mri.files.formats import Scan

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Frames of a moving heart from a few percent of their samples. Not for diagnostic use.",
)

Force = Annotated[bool, typer.Option("--force", help="Replace results that are there.")]


@app.command(epilog="Example: `fusewise mri recon scan.npz --out heart --format nii`")
@guarded
def recon(
    scan_file: Annotated[
        Path,
        typer.Argument(metavar="SCAN", help="ISMRMRD .h5 or .mrd, BART .cfl, .npz as simulate writes it, or .npy."),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the results. Without it: SCAN_mri.")
    ] = None,
    formats: Annotated[
        list[str] | None, typer.Option("--format", metavar="npy|cfl|nii", help="Of the images (may be repeated).")
    ] = None,
    lines_per_frame: Annotated[
        int, typer.Option(min=1, help="Readouts in a frame, where the file does not count frames.")
    ] = 10,
    coils: Annotated[int | None, typer.Option(min=1, help="Compress to so many virtual coils.")] = None,
    method: Annotated[
        str, typer.Option(help="interpolation, or fusion (the paper's own; gridded k-space).")
    ] = "interpolation",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "cpu",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of random choices.")] = None,
    force: Force = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
    verbose: Annotated[
        bool | None, typer.Option("--verbose/--quiet", help="Say more, or nothing but errors.", show_default=False)
    ] = None,
) -> None:
    """Reconstruct a series; everything not in the file is chosen from the data.

    Writes the images, labels.csv (the cluster of each frame) and index.html: a movie, frames, a line through the heart
    over time, the clusters and the sampling.
    """
    from fusewise.cli.running.writing import staged
    from fusewise.cli.showing import console
    from fusewise.kernels.compiling import Stopwatch, announcing
    from fusewise.mri import reconstruct
    from fusewise.mri.files.formats import IMAGE_FILES, write_images
    from fusewise.views.mri_page import PAGE_FILES, write_page

    wanted = list(dict.fromkeys(formats or ["npy"]))
    unknown = [name for name in wanted if name not in IMAGE_FILES]
    if unknown:
        raise InputError(f"--format: {unknown[0]!r} is none of {', '.join(IMAGE_FILES)}")
    folder = Path(f"{scan_file.stem}_mri") if out is None else out
    names = [*(name for kind in wanted for name in IMAGE_FILES[kind]), "labels.csv", *PAGE_FILES]
    targets = [folder / name for name in names]
    scan = read(scan_file, lines_per_frame, coils)
    watch = Stopwatch()
    with (
        staged(targets, force=force, sources=[scan_file]) as places,
        console.working(shown=verbose is None and not json) as tell,
        stopping_at_once(),
        blaming(scan_file),
        announcing(tell),
    ):
        found = reconstruct(
            scan.kspace,
            scan.mask,
            scan.trajectory,
            scan.maps,
            device=device,
            random_state=seed,
            verbose=1 if verbose else tell,
            method=method,
        )
        tell("clusters and pictures")
        for kind in wanted:
            write_images(places[folder / IMAGE_FILES[kind][0]], found.images)
        rows = [f"{frame},{label}" for frame, label in enumerate(found.labels)]
        places[folder / "labels.csv"].write_text("\n".join(["frame,cluster", *rows]) + "\n", encoding="utf-8")
        write_page(places[folder / "index.html"].parent, found, scan, scan_file.name)
    summary = recon_data(scan_file, found, targets, watch.working)
    if json:
        console.print_json(summary)
    elif verbose is not False:
        print_recon(summary)


@app.command(epilog="Example: `fusewise mri simulate scan.npz --frames 300 --coils 8`")
@guarded
def simulate(
    out: Annotated[Path, typer.Argument(metavar="SCAN", help="The .npz file to write.")],
    frames: Annotated[int, typer.Option(min=3, help="Frames, 40 ms apart.")] = 200,
    size: Annotated[int, typer.Option(min=8, help="Pixels along a side.")] = 96,
    golden: Annotated[int, typer.Option(min=0, help="Lines in a frame that turn by the golden angle.")] = 6,
    navigators: Annotated[int, typer.Option(min=0, help="Lines in a frame that stay.")] = 4,
    noise: Annotated[float, typer.Option(min=0, help="Standard deviation, of the brightest pixel.")] = 0.01,
    coils: Annotated[int, typer.Option(min=1, help="One: gridded. More: radial.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of heartbeat, breath and noise.")] = 0,
    force: Force = False,
) -> None:
    """Scan a beating, breathing phantom; the truth goes into the same file."""
    from fusewise.cli.running.writing import staged
    from fusewise.cli.showing import console
    from fusewise.mri.files.formats import write_scan
    from fusewise.mri.files.simulating import simulate_scan

    if out.suffix != ".npz":
        raise InputError(f"{str(out)!r} must end in .npz")
    with staged([out], force=force) as places, console.working(shown=True) as tell, blaming(out):
        tell("scanning the phantom")
        scan, truth = simulate_scan(
            frames, size, golden=golden, navigators=navigators, noise=noise, coils=coils, random_state=seed
        )
        write_scan(places[out], scan, **truth)
    print(f"written  {out}  ({frames} frames of {size} x {size}, {coils} coil{'s' if coils > 1 else ''})")


def read(path: Path, lines_per_frame: int, coils: int | None) -> Scan:
    """A scan, its coils compressed if asked for."""
    import numpy as np

    from fusewise.mri.files.formats import read_scan
    from fusewise.mri.sampling.coils import compress_coils

    with blaming(path):
        scan = read_scan(path, lines_per_frame=lines_per_frame)
    several = scan.kspace.shape[1] if scan.trajectory is not None or scan.kspace.ndim == 4 else 1
    if coils is None or coils >= several:
        return scan
    kspace, weights = compress_coils(scan.kspace, coils)
    return replace(scan, kspace=kspace, maps=None if scan.maps is None else np.tensordot(weights, scan.maps, 1))


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Report what is wrong with a scan, or missing to read it, as the user's to mend."""
    try:
        with blaming_input():
            yield
    except InputError as error:
        raise InputError(str(error) if path.name in str(error) else f"{path.name}: {error}") from error
    except FileNotFoundError as error:
        raise InputError(f"there is no file {str(path)!r}") from error
    except (OSError, BadZipFile) as error:
        raise InputError(f"cannot read {str(path)!r}: {error}") from error
    except ImportError as error:
        raise InputError(str(error)) from error


def recon_data(path: Path, found: Reconstruction, files: list[Path], seconds: float) -> dict[str, Any]:
    """What was found, for machines."""
    from fusewise.views.mri_page import WARNING

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
    """The summary, for people."""
    from rich.console import Console

    out = Console(highlight=False)
    rows, columns = summary["shape"]
    out.print(f"{summary['frames']} frames of {rows} x {columns} in {summary['clusters']} clusters")
    out.print(f"rank {summary['rank']}, lam {summary['lam']:.3g}, {summary['seconds']:.1f} s", style="dim")
    out.print(f"written  {', '.join(summary['files'])}", soft_wrap=True, markup=False)
    out.print(summary["warning"], style="bold yellow")
