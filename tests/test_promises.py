"""What the documentation promises has tests, and lower bounds of versions are stated for all."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "what-we-promise.md").read_text(encoding="utf-8")


def test_every_promise_names_tests_that_exist():
    names = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(names) > 20
    for path, name in names:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (path, name)
    for path in re.findall(r"`(tools/\w+\.py)`", PAGE):
        assert (ROOT / path).exists(), path
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| when")]
    assert all("`tests/" in row or "`tools/" in row for row in rows)


def test_lowest_versions_are_stated_for_all_and_run_by_the_workflow():
    sys.path.insert(0, str(ROOT / "tools"))
    from lowest import lowest

    found = lowest()
    assert {"numpy", "scipy", "typer", "jax", "scikit-learn", "dash", "distributed"} <= found.keys()
    assert "make test-lowest" in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


def test_the_workflow_attacks_every_week():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    jobs = re.split(r"\n  (?=\w+:\n)", text.partition("\njobs:")[2])
    weekly = "".join(job for job in jobs if "github.event_name == 'schedule'" in job)
    assert "cron:" in text
    for target in ("fuzz", "kills", "soak", "repeat", "newest"):
        assert f"run: make {target}" in weekly, target
