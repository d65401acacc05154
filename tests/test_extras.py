"""Without any extra the library works, and what needs one says which."""

import json
import subprocess
import sys

import pytest

from fusewise import plots

#: Everything that only an extra installs, made impossible to import, and a model fitted without it.
START = """
import sys

class Without:
    names = set("typer rich pandas polars pyarrow openpyxl highspy sigpy ismrmrd nibabel PIL torch "
                "matplotlib jinja2 dask distributed".split())

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
import json
import os
import numpy as np
from fusewise import FusionClustering, FusionImputer, exact, fuse, fusion_path, load, mri, plots, theory
from fusewise.mri import _sampling as coils
from fusewise.mri import _files as formats
from fusewise.views import write_mri_page
from fusewise.tables import read_table

rng = np.random.default_rng(0)
X = np.repeat([[0.0, 0.1], [5.0, 5.1]], 8, axis=0) + 0.01 * rng.normal(size=(16, 2))
X[::5, 1] = np.nan
holes = rng.random((30, 3))
holes[rng.random(holes.shape) < 0.5] = np.nan  # many pairs can share a centre: no reduction settles it all
model = FusionClustering().fit(X)
open("t.parquet", "wb").write(b"PAR1")
images = np.ones((4, 8, 8), complex)
scan = np.ones((20, 1, 320), complex)
"""

WORKS = {
    "estimators": "assert model.n_clusters_ == 2 and not np.isnan(FusionImputer().fit_transform(X)).any()",
    "fusion": "assert len(fusion_path(X, lams=[0.1, fuse(X, lam=1.0).lam])) == 2",
    "saving": "model.save('m.fusewise'); assert (load('m.fusewise').labels_ == model.labels_).all()",
    "theory": "theory.promise(theory.ClusterGeometry.from_data(X, model.labels_))",
    "html": "assert model._repr_html_()",
    "a file with categories": "rows = '1.5,red\\n2,red\\n8.5,blue\\n9,blue\\n' * 9; "
    "open('t.csv', 'w').write('size,colour\\n' + rows); "
    "reading = read_table('t.csv'); mixed = FusionClustering().fit(reading); assert mixed.n_clusters_ == 2; "
    "assert (mixed.predict(reading) == mixed.labels_).all(); os.remove('t.csv')",
    "exact": "assert exact.solve_l0(np.array([[0.0], [0.1], [5.0]]), 0.3).labels[2] == 1",
    "mri": "phantom = mri.make_phantom(20, 24); mask = mri.radial_mask(20, (24, 24)); "
    "assert mri.reconstruct(mri.sample_grid(phantom.images, mask), mask).images.shape == (20, 24, 24)",
}

NEEDS = {
    **{f"plots.{name}": ("plot", f"plots.{name}.from_estimator(model)") for name in plots.__all__},
    "report": ("report", "model.report('r.html')"),
    "exact.solve_l0": ("exact", "exact.solve_l0(holes, 0.3)"),
    "device": ("gpu", "fuse(X, lam=1.0, device='cuda')"),
    "Dask": ("dask", "from fusewise.observations import compute; compute([])"),
    "a file of Parquet": ("cli", "read_table('t.parquet')"),
    "mri maps": ("mri", "coils.maps_from_images(images)"),
    "mri ISMRMRD": ("mri", "formats.read_ismrmrd('scan.h5', 10)"),
    "mri NIfTI": ("mri", "formats.write_nifti('i.nii', images)"),
    "mri pictures": ("mri", "write_mri_page(None, None, None, '')"),
    "reproduce": ("plot", "from fusewise.reproduce import reproduce"),
}  # fmt: skip

RUN = """
said = {}
for name, code in CASES.items():
    try:
        exec(code)
        said[name] = None
    except Exception as error:
        said[name] = [type(error).__name__, str(error)]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each line raises in a process that has no extra."""
    cases = WORKS | {name: code for name, (_, code) in NEEDS.items()}
    command = [sys.executable, "-c", f"{START}\nCASES = {cases!r}\n{RUN}"]
    folder = tmp_path_factory.mktemp("without")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in folder.iterdir()} == {"m.fusewise", "t.parquet"}  # what failed left nothing behind
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", WORKS)
def test_works_without_extras(said, name):
    assert said[name] is None


@pytest.mark.parametrize("name", NEEDS)
def test_missing_extra_is_named(said, name):
    extra, _ = NEEDS[name]
    kind, message = said[name]
    assert kind in ("ImportError", "InputError")
    assert f'pip install "fusewise[{extra}]"' in message.replace("'", '"')


def test_command_names_its_extra():
    script = START.partition("import json")[0] + "from fusewise.cli import main; main(['fit', 'table.csv'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert 'pip install "fusewise[cli]"' in done.stderr
