"""Without an extra, what needs it says so in one sentence, and the rest works."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from patience import PATIENCE
from widthwise._extras import EXTRAS

pytestmark = pytest.mark.waits

ROOT = Path(__file__).resolve().parents[1]

# As if none of the extras were installed.
BLOCK = f"""
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] not in {sorted(EXTRAS)!r}:
            return super().find_spec(name, path, target)
sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
import widthwise as ww
from widthwise.cli import main
problem = ww.Problem("relu", gamma=0.6)
"""


def without_extras(code: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", BLOCK + code], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_python_says_which_extra_is_missing():
    calls = {
        "ww.learners.hmc(instance, iterations=4)": "hmc needs",
        "ww.learners.adam(instance, iterations=4)": "adam needs",
        "ww.learners.metropolis(binary, iterations=4)": "metropolis needs",
        "ww.yardstick('ridge', problem, 10, 1.0)": "yardstick needs sklearn",
        "ww.GampRieRegressor": "GampRieRegressor needs sklearn",
        "ww.learning_curve(problem, [1.0]).interactive()": "interactive needs plotly",
    }
    code = """
instance = ww.sample_instance(problem, 10, 1.0, 0)
binary = ww.sample_instance(problem.replace(weights="rademacher"), 10, 1.0, 0)
import json, sys
said = []
for call in json.loads(CALLS):
    try:
        eval(call)
        said.append("nothing")
    except Exception as error:
        said.append(f"{type(error).__name__}: {error}")
print(json.dumps(said))
"""
    done = without_extras(f"CALLS = {json.dumps(list(calls))!r}" + code)
    assert done.returncode == 0, done.stderr
    for (call, beginning), text in zip(calls.items(), json.loads(done.stdout), strict=True):
        assert text.startswith(f"MissingExtra: {beginning}"), (call, text)
        assert text.count("\n") == 0 and "pip install 'widthwise[" in text


def test_the_command_line_says_so_in_one_sentence_and_the_theory_needs_none():
    done = without_extras("""
assert main(["predict", "--alpha", "1", "--json"]) == 0
assert ww.learning_curve(problem, [0.5, 1.0]).to_xarray().sizes["alpha"] == 2
assert ww.transitions(problem, 1.0) and ww.samples_needed(problem, excess_error=0.05).alpha > 0
print(main(["explore", "--port", "0", "--no-browser"]), main(["yardstick", "ridge", "--d", "10"]))
print(main(["simulate", "--learner", "gamp_rie", "--d", "10"]), main(["hardness", "--activation", "sigma3"]))
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["2 2", "2 2"]
    lines = [line for line in done.stderr.splitlines() if line.startswith("error")]
    for line, extra in zip(lines, ("explorer", "simulate", "simulate", "simulate"), strict=True):
        assert line.startswith("error: ") and line.endswith(f"pip install 'widthwise[{extra}]'")


def test_results_are_shown_and_drawn_without_any_extra():
    done = without_extras("""
import matplotlib
matplotlib.use("agg")
assert "relu" in problem._repr_html_()
curve = ww.learning_curve(problem, [0.5, 1.0])
assert "<svg" in curve._repr_html_() and len(curve.plot().lines) == 1
""")
    assert done.returncode == 0, done.stderr


def test_every_module_is_in_the_extra_that_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for module, extra in EXTRAS.items():
        package = {"sklearn": "scikit-learn"}.get(module, module)
        brought = [item.split(">")[0].split("[")[0] for item in project["optional-dependencies"][extra]]
        assert package in brought, (module, extra)
