"""Imports point downwards only, and ``import widthwise`` loads nothing heavy.

The layers, lowest first, are those of ``LAYERS``: a module may import from its own layer and from the
ones below it. Every import counts, also one inside a function or under ``TYPE_CHECKING``: a lazy import
hides a cycle from the interpreter, not from the reader. Modules are read with ``ast`` and never run.

Two things need saying beyond the list:

- Learners run on instances and report observables, so ``experiments.instance`` and
  ``experiments.observables`` lie below ``learners``, and the rest of ``experiments`` above.
- ``widthwise/__init__.py`` re-exports everything, so it belongs to the outermost layer: the command line
  may say ``import widthwise as ww``, the theory may not.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "widthwise"

# Each layer is a set of module names inside the package; a name covers everything beneath it, and the
# longest name that fits a module wins. "" is the package itself, and fits only itself.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"_version"}),
    frozenset({"ingredients"}),
    frozenset({"problem"}),
    frozenset({"denoising"}),
    frozenset({"theory"}),
    frozenset({"networks"}),
    frozenset({"learners"}),
    frozenset({"sweeps"}),
    frozenset({"studies"}),
    frozenset(
        {
            "experiments",
            "paper",
            "notebook",
            "plotting",
            "cli",
            "explorer",
            "__main__",
            "",
        }
    ),
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


# --- the checker ---------------------------------------------------------------------------------


def layer_of(module: str) -> int | None:
    """Position in ``LAYERS`` of a module named relative to the package; None when it has no layer.

    A private module at the top of the package (``_numerics``) is shared ground, as low as ``_version``.
    """
    parts = module.split(".") if module else []
    if not parts:
        names = [""]
    else:
        names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    for name in names:
        for position, layer in enumerate(LAYERS):
            if name in layer:
                return position
    if parts and parts[0].startswith("_"):
        return 0
    return None


def modules_of(package: Path) -> dict[str, Path]:
    """Every module under ``package``, by its name relative to it ("" is the package itself)."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        modules[".".join(parts)] = path
    return modules


def imports_of(module: str, path: Path, modules: dict[str, Path], root: str) -> Iterator[tuple[int, str]]:
    """Line and target, relative to the package, of each import of the package itself made by a module."""
    home = [root, *(module.split(".") if module else [])]
    if path.name != "__init__.py":
        home = home[:-1]

    def inside(target: str) -> str | None:
        head, _, rest = target.partition(".")
        return rest if head == root else None

    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                # "from .theory import saddle" names a module, "from .theory import solve" does not.
                full = ".".join([*base, alias.name])
                targets.append(full if inside(full) in modules else ".".join(base))
        elif isinstance(node, ast.Call) and _is_import_call(node):
            name = node.args[0]
            assert isinstance(name, ast.Constant)
            level = len(name.value) - len(name.value.lstrip("."))
            base = home[: len(home) - level + 1] if level else []
            targets = [".".join([*base, *filter(None, name.value.lstrip(".").split("."))])]
        for target in dict.fromkeys(targets):
            relative = inside(target)
            if relative is not None:
                yield node.lineno, relative


def _is_import_call(node: ast.Call) -> bool:
    """Whether a call is ``import_module("...")`` or ``__import__("...")`` with the name written out."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    return (
        called in {"import_module", "__import__"}
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    )


def violations(package: Path) -> list[str]:
    """One sentence for each import that points upwards and for each module that has no layer."""
    root = package.name
    modules = modules_of(package)
    found = []
    for module, path in modules.items():
        where = path.relative_to(package.parent).as_posix()
        layer = layer_of(module)
        if layer is None:
            found.append(f"{where} belongs to no layer; give it one in LAYERS of tests/test_layers.py")
            continue
        for line, target in imports_of(module, path, modules, root):
            below = layer_of(target)
            full = ".".join(filter(None, [root, target]))
            if below is None:
                found.append(f"{where}:{line} imports {full}, which belongs to no layer")
            elif below > layer:
                found.append(f"{where}:{line} imports {full}, which lies above it")
    return found


# --- the package ---------------------------------------------------------------------------------


def test_imports_point_downwards():
    modules = modules_of(PACKAGE)
    assert {"", "problem"} <= modules.keys(), f"no package to check in {PACKAGE.name}"
    assert not violations(PACKAGE), "\n".join(violations(PACKAGE))


def loaded_by(statement: str) -> list[str]:
    """The heavy modules that a fresh interpreter has loaded after running ``statement``."""
    report = f"import sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", f"{statement}\n{report}"], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_import_loads_nothing_heavy():
    assert loaded_by("import widthwise") == []


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
    "experiments/instance.py": "from ..problem import Problem\n",
    "experiments/observables.py": "from .instance import Instance\nfrom ..theory import saddle\n",
    "experiments/sweep.py": "from ..learners import hmc\nfrom . import instance\n",
    "learners/hmc.py": "from ..networks.instance import Instance\nfrom ..experiments import observables\n",
    "plotting.py": "import matplotlib.pyplot as plt\nfrom .theory.curves import learning_curve\n",
    "cli/__init__.py": "import widthwise as ww\nfrom .. import plotting\n",
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
        ("theory/__init__.py", "from ..learners import hmc", "widthwise.learners.hmc"),
        ("denoising/bad.py", "from ..theory.saddle import solve", "widthwise.theory.saddle"),
        ("ingredients/bad.py", "from ..problem import Problem", "widthwise.problem"),
        ("problem.py", "from .theory import saddle", "widthwise.theory.saddle"),
        ("learners/bad.py", "from ..experiments import sample_instance", "widthwise.experiments"),
        ("learners/bad.py", "from ..sweeps.sweep import sweep", "widthwise.sweeps.sweep"),
        ("experiments/instance.py", "from ..learners import hmc", "widthwise.learners.hmc"),
        ("experiments/bad.py", "from ..cli import main", "widthwise.cli"),
        ("_numerics.py", "from .ingredients import weights", "widthwise.ingredients.weights"),
    ],
)
def test_upward_import_is_found(tmp_path, path, text, target):
    package = write_tree(tmp_path, {**LAWFUL, path: text})
    line = len(text.splitlines())
    assert violations(package) == [f"widthwise/{path}:{line} imports {target}, which lies above it"]


def test_module_without_layer_is_found(tmp_path):
    (message,) = violations(write_tree(tmp_path, {**LAWFUL, "helpers/misc.py": ""}))[:1]
    assert message.startswith("widthwise/helpers/__init__.py belongs to no layer")
