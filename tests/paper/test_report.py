"""The report is made from files alone, and says what was not run."""

import html.parser
import re
import shutil
from pathlib import Path

import pytest

import widthwise as ww
from widthwise.cli import main
from widthwise.paper import find, load, reproduce
from widthwise.paper.report import numbers_page, write_report

DOCS = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduction")
    for name in ("hermite", "numbers"):
        reproduce(find(name), "smoke", out, out / "store")
    return out


class Balance(html.parser.HTMLParser):
    """Checks that every tag is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.images = [], []

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.images.append(dict(attrs))
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_files_of_an_item(folder):
    names = {path.name for path in (folder / "hermite").iterdir()}
    assert names == {"theory.csv", "comparison.csv", "table.csv", "item.json"}  # a table: no figure
    outcome = load(find("hermite"), folder)
    assert outcome.verdicts == {"agrees": 17, "last digit": 1}
    assert outcome.tables.settings.scale == "smoke"
    assert load(find("overlaps"), folder) is None


def test_report(folder):
    markdown, page = write_report(folder)
    text = markdown.read_text(encoding="utf-8")
    assert "| overlaps | Figure 4 | not run |" in text
    assert "| ELU(z) | 0.16052 | 0.76158 |" in text
    assert "hermite.png" not in text and "Settings: scale smoke." in text
    parser = Balance()
    parser.feed(page.read_text(encoding="utf-8"))
    assert parser.open == [] and all((folder / image["src"]).exists() for image in parser.images)
    assert all(image["alt"] for image in parser.images)


def test_page_of_numbers(folder):
    text = numbers_page(folder).read_text(encoding="utf-8")
    assert "| onset α_sp | sigma3, rademacher | 0.30 | 0.304 | agrees |" in text
    assert text.count("| differs |") == 4


def test_command_lists_and_refuses(capsys, tmp_path):
    assert main(["reproduce", "--list"]) == 0
    assert "gaussian-weights" in capsys.readouterr().out
    for arguments, words in (
        ([], "say what to reproduce"),
        (["herm"], "did you mean 'hermite'"),
        (["hermite", "--scale", "big"], "scale"),
        (["hermite", "--workers", "0"], "--workers must be >= 1"),
        (["hermite", "--workers", "2", "--cluster", "tcp://x:1"], "not both"),
    ):
        assert main(["reproduce", *arguments, "--out", str(tmp_path)]) == 2
        assert words in capsys.readouterr().err


def test_command_computes_and_reports(capsys, tmp_path):
    assert main(["reproduce", "hermite,report", "--out", str(tmp_path)]) == 0
    assert "hermite: 0 runs; 17 agree" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists() and (tmp_path / "hermite" / "table.csv").exists()


def test_pages_of_the_documentation_are_what_the_committed_tables_say(tmp_path):
    """``widthwise reproduce report --out docs/reproduction`` makes them again; nothing is edited by hand."""
    committed = Path(__file__).parents[2] / "docs" / "reproduction"
    copy = shutil.copytree(committed, tmp_path / "reproduction")
    (copy / "report.md").unlink()
    (copy / "numbers.md").unlink()
    (copy / "ansatz" / "ansatz.pdf").touch()  # made with each figure, and not kept with the source
    write_report(copy)
    numbers_page(copy)
    for name in ("report.md", "numbers.md"):
        assert (copy / name).read_text(encoding="utf-8") == (committed / name).read_text(encoding="utf-8")


def test_the_report_says_sizes_memory_and_what_is_no_measurement():
    """What readers asked: which d, which points are memory of the start, whose data they are."""
    text = (DOCS / "report.md").read_text(encoding="utf-8")
    sections = {part.split("\n")[0]: part for part in text.split("\n## ")[1:]}
    for title in ("Hardness with Adam", "Hardness with HMC"):
        settings = next(line for line in sections[title].split("\n") if line.startswith("Settings"))
        assert "d = 0" not in settings and re.search(r"d = \d+, \d+", settings)
    binary = sections["Errors with binary weights"]
    spinodal = float(re.search(r"σ₃ has no solution .* α = ([\d.]+)\. ", binary)[1])
    jump = ww.transitions(find("binary-weights").problems["sigma3"], 2.0)[-1]
    fold = jump.spinodals[0]
    assert spinodal == pytest.approx(fold, abs=6e-4) and "0.93 at α = 1.5 (the authors')" in binary
    assert "2501.18530" in text and "statphys-deep-NN" in text
    assert not any("verdict" in row for row in load(find("phase-diagram"), DOCS).tables.comparison)
    assert len(text) < 36_000  # a page that a reader finishes, two screens an item
