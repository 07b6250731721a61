"""Everything at the smallest scale, once: files, tables, and measurements within bands.

d is 16 to 30 and there are one or two instances, so the bands are wide: they catch a wrong factor, estimator
or branch, not a correction of order 1/d.
"""

import pytest

from widthwise.cli import main
from widthwise.paper import NAMES, find, load

# One process for all of them: the fixture takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("smoke")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("smoke")
    assert main(["reproduce", "all", "--scale", "smoke", "--out", str(out)]) == 0
    return out


def ours(folder, name, **chosen):
    rows = load(find(name), folder).tables.comparison
    return [row for row in rows.where(**chosen) if row.get("source") == "ours"]


def assert_within(rows, band, n_rows):
    assert len(rows) == n_rows
    for row in rows:
        where = [row.get(name) for name in ("series", "learner", "start", "alpha", "quantity")]
        assert abs(row["relative_deviation"]) < band, f"{where}: {row['measured']} for {row['predicted']}"


def test_every_item_leaves_its_files(folder):
    for name in NAMES:
        outcome = load(find(name), folder)
        assert outcome is not None and outcome.n_failed == 0
        wanted = ["theory.csv", "comparison.csv"]
        wanted += [f"{name}.png", f"{name}.pdf"] if find(name).draw else []
        wanted += ["measured.csv"] if find(name).tasks else []
        for file in wanted:
            assert (folder / name / file).stat().st_size > 100, (name, file)
        for row in outcome.tables.measured:
            assert row["status"] and row["version"] and "seed" in row and row["d"] <= 30
        assert all(
            row["status"] == "converged" for row in outcome.tables.theory if row.get("line") == "equilibrium"
        )
    assert "not run" not in (folder / "report.md").read_text(encoding="utf-8")
    assert (folder / "report.html").exists() and (folder / "numbers.md").exists()


def test_measurements_lie_within_their_bands(folder):
    informed = {"learner": "hmc", "start": "teacher", "quantity": "excess_error"}
    assert_within(ours(folder, "gaussian-weights", **informed), 0.25, 6)
    assert_within(ours(folder, "ansatz", **informed), 0.25, 2)
    assert_within(ours(folder, "gaussian-weights", learner="gamp_rie"), 0.25, 3)
    assert_within(ours(folder, "gamp-rie", learner="gamp_rie"), 0.15, 4)
    assert_within(ours(folder, "hmc-sigma3", **informed), 0.3, 3)
    assert_within(ours(folder, "overlaps", quantity=("Q1", "Q2")), 0.2, 4)
    assert_within(ours(folder, "hardness-hmc", quantity="matrix_overlap_centred"), 0.08, 6)
    assert_within(ours(folder, "classification"), 0.4, 1)
    early = {"quantity": "matrix_overlap_centred", "alpha": 0.6, "series": ("sigma1", "sigma3")}
    assert_within(ours(folder, "binary-weights", learner="metropolis", **early), 0.15, 2)
    late = {"quantity": "weight_overlap", "alpha": 2.2, "series": ("sigma2", "sigma3")}
    assert_within(ours(folder, "binary-weights", learner="metropolis", **late), 0.05, 2)


def test_a_second_call_runs_nothing(folder, capsys):
    arguments = ["--scale", "smoke", "--out", str(folder)]
    assert main(["reproduce", "overlaps", *arguments]) == 0
    assert "2 runs, 0 to do" in capsys.readouterr().err
