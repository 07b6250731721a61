"""Wheel and source distribution build, install into empty environments, and agree on their version."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import widthwise as ww
from patience import PATIENCE

pytest.importorskip("build")

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# What pip says when there is nothing to install from.
NO_INDEX = ("Could not find a version", "Connection", "No matching distribution", "Temporary failure")


def run(command: list, **options) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=8 * PATIENCE,
        env=environment,
        **options,
    )


def from_index(command: list) -> None:
    done = run(command)
    if done.returncode and any(words in done.stdout + done.stderr for words in NO_INDEX):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory) -> tuple[Path, Path]:
    """Wheel and source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    from_index([sys.executable, "-m", "build", "--outdir", folder, ROOT])
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


@pytest.mark.slow
def test_wheel_is_clean_and_complete(distributions):
    wheel, source = distributions
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode()
    package = [name for name in names if ".dist-info/" not in name]
    assert all(name.startswith("widthwise/") for name in package)
    assert not any("__pycache__" in name or name.endswith((".pyc", ".tmp")) for name in names)
    assert {"widthwise/py.typed", "widthwise/explorer/assets/explorer.css"} <= set(names)
    modules = {str(p.relative_to(ROOT / "src")).replace(os.sep, "/") for p in (ROOT / "src").rglob("*.py")}
    assert modules <= set(names)
    for line in ("Name: widthwise", "License-Expression: BSD-3-Clause", "Requires-Python: >=3.11"):
        assert line in metadata
    assert "Provides-Extra: simulate" in metadata and "Description-Content-Type: text/markdown" in metadata
    assert wheel.stat().st_size < 3_000_000
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/widthwise/__init__.py"} <= inside
    assert not any(name.startswith(("docs/_build", "docs/gallery", ".venv")) for name in inside)

    data = {"widthwise/paper/data/measurements.json", "widthwise/studies/data/hardness_hmc.csv"}
    assert data <= set(names)


def test_all_places_name_one_version():
    about = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", about, re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)[
        1
    ]
    assert releases[0] == cited == ww.__version__


@pytest.mark.slow
def test_the_source_distribution_installs_the_same_package(distributions, tmp_path):
    wheel, source = distributions
    run([sys.executable, "-m", "venv", tmp_path / "venv"]).check_returncode()
    folder = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    from_index([folder / "python", "-m", "pip", "install", "--quiet", "--no-deps", source])
    code = "import importlib.metadata as m; package = m.distribution('widthwise'); "
    code += "print(package.version, *package.files, sep='\\n')"
    version, *files = run([folder / "python", "-c", code], cwd=tmp_path).stdout.splitlines()
    with zipfile.ZipFile(wheel) as archive:
        expected = {name for name in archive.namelist() if name.startswith("widthwise/")}
    assert version == ww.__version__
    assert {name for name in files if name.startswith("widthwise/") and "__pycache__" not in name} == expected


@pytest.mark.slow
def test_the_core_alone_runs_the_readme(distributions, tmp_path):
    wheel, _ = distributions
    run([sys.executable, "-m", "venv", tmp_path / "venv"]).check_returncode()
    folder = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    from_index([folder / "python", "-m", "pip", "install", "--quiet", wheel])
    code, shown = re.search(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", README, re.DOTALL).groups()
    done = run([folder / "python", "-c", code], cwd=tmp_path)
    assert done.stdout.splitlines() == shown.splitlines(), done.stderr
    done = run([folder / "widthwise", "predict", "--alpha", "1", "--json"], cwd=tmp_path)
    assert done.returncode == 0 and '"excess_error"' in done.stdout
    done = run([folder / "widthwise", "yardstick", "ridge"], cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "pip install 'widthwise[simulate]'" in done.stderr
