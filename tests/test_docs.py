"""The documentation: every page can be reached, every link leads somewhere, every name it gives exists.

Building it is ``make docs``; what is here needs no Sphinx and a second.
"""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import widthwise as ww
from widthwise.cli.app import COMMANDS

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
    text = (DOCS / "how-it-is-computed.md").read_text(encoding="utf-8")
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


@pytest.mark.parametrize("script", sorted((ROOT / "examples/short").glob("*.py")), ids=lambda p: p.stem)
def test_scripts_of_the_gallery_have_a_title_and_are_executed(script):
    assert script.name.startswith("plot_")
    title, line, *_ = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))).splitlines()
    assert title and set(line) == {"="} and len(line) >= len(title)
