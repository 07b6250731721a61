"""Imports point downwards only, in any form, and ``import widthwise`` loads nothing heavy.

The layers and the reader of imports are in ``tools/imports.py``, which also draws them for the documentation.
"""

import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from patience import PATIENCE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from imports import (
    LAYERS,
    PACKAGE,
    PICTURE,
    draw,
    imports_of,
    layer_of,
    modules_of,
    package_imports,
    violations,
)

# What takes long to import. NumPy is not among them: no part of the package works without it.
HEAVY = (
    "arviz",
    "blackjax",
    "dash",
    "dask",
    "distributed",
    "jax",
    "matplotlib",
    "numba",
    "optax",
    "pandas",
    "plotly",
    "rich",
    "scipy",
    "sklearn",
    "typer",
    "xarray",
)


# --- the package ---------------------------------------------------------------------------------


def test_imports_point_downwards():
    modules = modules_of(PACKAGE)
    assert {"", "problem"} <= modules.keys(), f"no package to check in {PACKAGE.name}"
    assert not violations(PACKAGE), "\n".join(violations(PACKAGE))


def test_no_two_packages_need_each_other():
    found = package_imports(PACKAGE)
    assert found["theory", "ingredients"] and not [pair for pair in found if pair[::-1] in found]
    # One package in each layer (the last only lists names), so longer circles are upward imports too.
    assert all(len(layer) == 1 for layer in LAYERS[:-1])


def test_the_theory_is_at_most_eight_modules_deep():
    """From any module of it to the last one that it needs, without a circle."""
    modules = {name: path for name, path in modules_of(PACKAGE).items() if name.startswith("theory.")}
    needs = {
        name: {to for _, to in imports_of(name, path, modules, PACKAGE.name) if to in modules}
        for name, path in modules.items()
    }
    depth: dict[str, int] = {}
    for name in TopologicalSorter(needs).static_order():  # which refuses circles
        depth[name] = 1 + max((depth[to] for to in needs[name]), default=0)
    assert 5 < max(depth.values()) <= 8


def test_the_picture_shows_the_imports_there_are():
    assert PICTURE.read_text(encoding="utf-8") == draw(PACKAGE), "draw it again: python tools/imports.py"


# Every import of the package that really happens, with the module whose code asked for it.
WATCH = """
import sys
def watch(event, arguments):
    if event == "import" and arguments[0].partition(".")[0] == "widthwise":
        frame = sys._getframe(1)
        while frame and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        print("import", frame.f_globals["__name__"] if frame else "?", arguments[0])
sys.addaudithook(watch)
"""

WORK = """
import matplotlib
matplotlib.use("agg")
import widthwise as ww
problem = ww.Problem("relu", gamma=0.6)
ww.learning_curve(problem, [0.5, 1.0])._repr_html_()
ww.solve(problem, 1.0).plot()
ww.learners.gamp_rie(ww.sample_instance(problem, 10, 1.0)).plot()
ww.experiments.run_task(ww.experiments.Task(problem, 10, 1.0, 0, "gamp_rie"))
"""


def upward(lines: list[str]) -> list[str]:
    found = []
    for line in lines:
        importer, imported = (name.removeprefix("widthwise").lstrip(".") for name in line.split()[1:])
        if line.split()[1].startswith("widthwise") and layer_of(imported) > layer_of(importer):
            found.append(line)
    return found


@pytest.mark.waits
def test_no_import_points_upwards_while_the_package_is_used():
    done = subprocess.run(
        [sys.executable, "-c", WATCH + WORK], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("import ")]
    loaded = {line.split()[2] for line in lines}
    assert {"widthwise.theory", "widthwise.plotting.notebook", "widthwise.sweeps.task"} <= loaded
    assert not upward(lines)
    assert upward(["import widthwise.theory widthwise.learners"])


def loaded_by(statement: str) -> list[str]:
    """The heavy modules that a fresh interpreter has loaded after running ``statement``."""
    report = f"import sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", f"{statement}\n{report}"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


@pytest.mark.waits
def test_import_loads_nothing_heavy():
    assert loaded_by("import widthwise") == []


@pytest.mark.waits
def test_heavy_modules_are_noticed():
    assert loaded_by("import scipy") == ["scipy"]


# --- the checker can fail ------------------------------------------------------------------------


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    """A small fake package: ``files`` by path, and an empty ``__init__.py`` in each folder."""
    package = folder / "widthwise"
    for name, text in {"__init__.py": "", **files}.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for parent in path.relative_to(package).parents:
            (package / parent / "__init__.py").touch()
    return package


LAWFUL = {
    "__init__.py": "def __getattr__(name):\n    from . import cli, ingredients, theory\n",
    "_version.py": "__version__ = '0'\n",
    "_numerics.py": "import numpy\n",
    "ingredients/activations.py": "from .. import _numerics\nfrom .._version import __version__\n",
    "ingredients/weights.py": "from .activations import Activation\n",
    "problem.py": "from widthwise.ingredients.weights import Gaussian\n",
    "denoising/spectrum.py": "from ..ingredients import weights\n",
    "theory/saddle.py": "from ..denoising.spectrum import mmse\nfrom ..problem import Problem\n",
    "theory/curves.py": "from . import saddle\nfrom .saddle import solve\n",
    "networks/instance.py": "from ..problem import Problem\n",
    "networks/observables.py": "from .instance import Instance\nfrom ..theory import saddle\n",
    "sweeps/sweep.py": "from ..learners import hmc\nfrom ..networks import instance\n",
    "learners/hmc.py": "from ..networks.instance import Instance\nfrom ..networks import observables\n",
    "plotting.py": "import matplotlib.pyplot as plt\nfrom .theory.curves import learning_curve\n",
    "cli/__init__.py": "def run(name):\n    import_module(f'{__package__}.{name}')\n",
    "cli/app.py": "from .. import plotting\nimport_module(f'.{name}', __package__)\n",
    "experiments/__init__.py": "import_module(f'..{name}', __name__)\n",
    "__main__.py": "import widthwise as ww\n",
    "_import_path.py": "pkgutil.resolve_name(path)\n",
}


def test_lawful_tree_passes(tmp_path):
    assert violations(write_tree(tmp_path, LAWFUL)) == []


@pytest.mark.parametrize(
    ("path", "text", "target"),
    [
        ("theory/bad.py", "from widthwise.learners import hmc", "widthwise.learners.hmc"),
        ("theory/bad.py", "import widthwise.sweeps.sweep", "widthwise.sweeps.sweep"),
        ("theory/bad.py", "from ..networks.instance import Instance", "widthwise.networks.instance"),
        ("theory/bad.py", "def late():\n    from ..learners.hmc import run", "widthwise.learners.hmc"),
        ("theory/bad.py", "if TYPE_CHECKING:\n    from .. import plotting", "widthwise.plotting"),
        ("theory/bad.py", "import widthwise", "widthwise"),
        ("theory/bad.py", "from .. import Problem", "widthwise"),
        ("theory/bad.py", "import_module('widthwise.cli')", "widthwise.cli"),
        ("theory/bad.py", "importlib.import_module('..cli', __package__)", "widthwise.cli"),
        ("theory/bad.py", "importlib.import_module(f'..{name}', __package__)", "widthwise"),
        ("theory/bad.py", "import_module(f'widthwise.{name}')", "widthwise"),
        ("theory/bad.py", "import_module(f'widthwise.learners.{name}')", "widthwise.learners"),
        ("theory/bad.py", "pkgutil.resolve_name('widthwise.learners.hmc:run')", "widthwise.learners.hmc"),
        ("_numerics.py", "import_module(f'{__package__}.{name}')", "widthwise"),
        ("theory/__init__.py", "from ..learners import hmc", "widthwise.learners.hmc"),
        ("denoising/bad.py", "from ..theory.saddle import solve", "widthwise.theory.saddle"),
        ("ingredients/bad.py", "from ..problem import Problem", "widthwise.problem"),
        ("problem.py", "from .theory import saddle", "widthwise.theory.saddle"),
        ("learners/bad.py", "from ..experiments import sample_instance", "widthwise.experiments"),
        ("learners/bad.py", "from ..sweeps.sweep import sweep", "widthwise.sweeps.sweep"),
        ("networks/instance.py", "from ..learners import hmc", "widthwise.learners.hmc"),
        ("sweeps/bad.py", "from ..cli import main", "widthwise.cli"),
        ("plotting.py", "from .cli import app", "widthwise.cli.app"),
        ("_numerics.py", "from .ingredients import weights", "widthwise.ingredients.weights"),
    ],
)
def test_upward_import_is_found(tmp_path, path, text, target):
    package = write_tree(tmp_path, {**LAWFUL, path: text})
    line = len(text.splitlines())
    assert violations(package) == [f"widthwise/{path}:{line} imports {target}, which lies above it"]


@pytest.mark.parametrize(
    "call", ["import_module(name)", "__import__(a + b)", "import_module(f'{package}.cli')"]
)
def test_a_name_that_could_be_anything_is_found(tmp_path, call):
    package = write_tree(tmp_path, {**LAWFUL, "cli/app.py": call})
    assert violations(package) == ["widthwise/cli/app.py:1 imports by a name that is computed"]


def test_module_without_layer_is_found(tmp_path):
    (message,) = violations(write_tree(tmp_path, {**LAWFUL, "helpers/misc.py": ""}))[:1]
    assert message.startswith("widthwise/helpers/__init__.py belongs to no layer")
