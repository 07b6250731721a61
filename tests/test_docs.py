"""The documentation: every page can be reached, every link leads somewhere, every name it gives exists.

Building it is ``make docs``; what is here needs no Sphinx and a second.
"""

import ast
import contextlib
import inspect
import io
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

import widthwise as ww
from widthwise.cli.app import COMMANDS
from widthwise.theory.solution import FIELDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MADE = ("_build", "_ext", "_static", "_templates", "gallery", "generated")  # not written by hand
PAGES = sorted(
    path
    for ending in ("md", "rst")
    for path in DOCS.rglob(f"*.{ending}")
    if not set(path.relative_to(DOCS).parts) & set(MADE)
    and path.name not in ("studies.rst", "sg_execution_times.rst")
)
MADE_PAGES = {DOCS / "gallery/index", DOCS / "studies"}


def toctree(page: Path) -> list[Path]:
    """Pages that a page lists, without their endings."""
    text = page.read_text(encoding="utf-8")
    found = []
    for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
        entries = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
        found += [(page.parent / entry).resolve() for entry in entries]
    return found


def test_every_page_can_be_reached():
    reached, todo = set(), [DOCS / "index.md"]
    known = {page.with_suffix("").resolve(): page for page in PAGES}
    while todo:
        page = todo.pop()
        reached.add(page.with_suffix("").resolve())
        for entry in toctree(page):
            assert entry in known or entry in MADE_PAGES, (
                f"{page.name} lists {entry.name}, which is not there"
            )
            if entry in known and entry not in reached:
                todo.append(known[entry])
    lost = [str(page.relative_to(DOCS)) for name, page in known.items() if name not in reached]
    assert not lost, f"in no toctree: {lost}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "http://", "#")) or "gallery/" in target:
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve()
        assert place.exists(), f"{page.name}: {target}"
        if anchor and place.suffix == ".md":
            heads = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor in slugs, f"{page.name}: {target}"


def test_functions_and_tests_that_are_named_exist():
    text = (DOCS / "how-it-is-computed.md").read_text(encoding="utf-8").split("by their labels")[0]
    table = [line for line in text.splitlines() if line.startswith("|")][2:]
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(table) > 15
    for line in table:
        _, functions, checks = (cell for cell in line.strip("|").split(" | "))
        for name in re.findall(r"`([^`]+)`", functions):
            found(name)
        for name in re.findall(r"`([^`]+)`", checks):
            assert (ROOT / name).exists() if "/" in name else f"def {name}(" in tests, name


def found(name: str) -> object:
    """What a dotted name inside the package stands for."""
    if name.startswith("MatrixDenoiser."):
        name = f"denoising.{name}"
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(["widthwise", *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    return getattr(ww, name)


def test_the_reference_has_every_public_name():
    text = (DOCS / "api/index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([A-Za-z]\w*(?:\.\w+)*)$", text, re.MULTILINE)
    for name in listed:
        found(name)
    missing = set(ww.__all__) - {"__version__", "denoising"} - set(listed)
    assert not missing, f"not in docs/api/index.rst: {sorted(missing)}"


def test_commands_and_functions_that_are_offered_exist():
    text = (DOCS / "which-function.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`widthwise (\w+)", text)) <= set(COMMANDS)
    for name in re.findall(r"`ww\.([\w.]+)", text):
        found(name)


WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(page for page in PAGES if page.suffix == ".md")]
WRITTEN = [page for page in WRITTEN if "reproduction" not in page.parts]
FILES = (
    "py",
    "csv",
    "md",
    "toml",
    "png",
    "svg",
    "nc",
    "json",
    "ipynb",
    "html",
    "cff",
    "rst",
    "yml",
    "txt",
    "whl",
    "jsonl",
    "npy",
)
# What a variable of an example holds.
HELD = {
    "curve": "LearningCurve",
    "s": "Solution",
    "solution": "Solution",
    "problem": "Problem",
    "diagram": "PhaseDiagram",
    "run": "learners.run.Run",
    "instance": "networks.instance.Instance",
    "store": "sweeps.store.Store",
    "law": "theory.ScalingLaw",
    "scaling": "theory.ScalingLaw",
    "MatrixDenoiser": "denoising.MatrixDenoiser",
    "Sweep": "Sweep",
}
# Words that look like names of the package and belong to others.
FOREIGN = (
    "np",
    "numpy",
    "scipy",
    "pandas",
    "xarray",
    "sklearn",
    "jax",
    "arviz",
    "concurrent",
    "distributed",
    "threadpoolctl",
)


def names_in(text: str) -> set[str]:
    """Dotted names in code: ``ww.solve``, ``widthwise.plotting.plot_error``, ``curve.save``."""
    blocks = re.findall(r"```(?:python|pycon)\n(.*?)```", text, re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    found = set()
    for block in blocks:
        found |= set(re.findall(r"\b((?:ww|widthwise)\.[A-Za-z_][\w.]*\w)", block))
    for piece in inline:
        match = re.fullmatch(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(.*\))?", piece)
        if match:
            found.add(match[1])
    return found


def stands_for(name: str) -> bool:
    """Whether a dotted name of the text is there."""
    head, _, rest = name.partition(".")
    if head in ("ww", "widthwise"):
        name = rest
    elif head in HELD:
        name = f"{HELD[head]}.{rest}"
    try:
        _walked(name)
    except (AttributeError, ModuleNotFoundError):
        return _is_field(name)
    return True


def _walked(name: str) -> object:
    """The public name, or the one inside a module."""
    thing: object = ww
    try:
        for part in name.split("."):
            thing = getattr(thing, part)
    except AttributeError:
        return found(name)
    return thing


def _is_field(name: str) -> bool:
    """Whether it is a field of instances, which its class does not have as an attribute."""
    owner, _, last = name.rpartition(".")
    try:
        thing = _walked(owner)
    except (AttributeError, ModuleNotFoundError, ValueError):
        return False
    if not inspect.isclass(thing):
        return False
    known = set(getattr(thing, "__dataclass_fields__", ())) | set(getattr(thing, "__annotations__", ()))
    if getattr(thing, "__name__", "") == "LearningCurve":
        known |= {*FIELDS, "error", "problem", "asked", "theory"}
    return last in known or f"self.{last} " in inspect.getsource(thing)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_in_the_text_exists(page):
    missing = [
        name
        for name in sorted(names_in(page.read_text(encoding="utf-8")))
        if name.rpartition(".")[2] not in FILES
        and name.partition(".")[0] not in FOREIGN
        and not stands_for(name)
    ]
    assert not missing, missing


def test_a_name_that_does_not_exist_is_noticed():
    text = "`ww.solv(p)`, `ww.solve(p)`, `curve.sav`, `plotting.plot_error`\n```python\nww.no.such\n```"
    names = names_in(text)
    assert [n for n in sorted(names) if not stands_for(n)] == ["curve.sav", "ww.no.such", "ww.solv"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["my-data", "real-inputs", "own-ingredients", "classification"])
def test_the_code_of_a_page_runs_and_gives_its_numbers(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, name, "exec"), space)
        for line in block.splitlines():
            shown = re.fullmatch(r"([^#]+[^#\s])\s+# (\d+\.\d+)(?:[: ].*)?", line)
            if shown:  # an expression with its value, to the digits given
                digits = len(shown[2].partition(".")[2])
                assert round(float(eval(shown[1], space)), digits) == float(shown[2]), line


@pytest.mark.slow
def test_the_tutorial_runs():
    import matplotlib

    matplotlib.use("agg")
    cells = json.loads((ROOT / "examples/tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    space: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for cell in cells:
            if cell["cell_type"] == "code":
                assert not cell["outputs"]  # kept without results
                exec(compile("".join(cell["source"]), cell["id"], "exec"), space)
    assert "needs alpha" in printed.getvalue() and "verdict" in printed.getvalue()


@pytest.mark.parametrize("script", sorted((ROOT / "examples/short").glob("*.py")), ids=lambda p: p.stem)
def test_scripts_of_the_gallery_have_a_title_and_are_executed(script):
    assert script.name.startswith("plot_")
    title, line, *_ = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))).splitlines()
    assert title and set(line) == {"="} and len(line) >= len(title)


def test_equations_of_the_paper_are_found_by_their_labels():
    """Each label of the table stands in a docstring of the module named."""
    text = (DOCS / "how-it-is-computed.md").read_text(encoding="utf-8").split("by their labels")[1]
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) > 10
    for module, labels in rows:
        path = ROOT / "src/widthwise" / f"{module.replace('.', '/')}.py"
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        strings = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        words = {word.strip("().,;:`") for string in strings for word in string.split()}
        missing = [label for label in re.findall(r"`([^`]+)`", labels) if label not in words]
        assert not missing, f"{module} does not name {missing}"
