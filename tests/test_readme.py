"""The examples of README.md print what README.md shows."""

import contextlib
import io
import re
import shlex
from pathlib import Path

from widthwise.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def example(language: str, after: str) -> tuple[str, str]:
    """The first block of a language after a heading, and the output shown after it."""
    text = README[README.index(after) :]
    match = re.search(rf"```{language}\n(.*?)```\n\nprints\n\n```text\n(.*?)```", text, re.DOTALL)
    assert match, f"no example in {language} with its output after {after!r}"
    return match.group(1), match.group(2)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def test_python_example():
    code, shown = example("python", "### From Python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert lines(printed.getvalue()) == lines(shown)


def test_python_example_is_ten_lines():
    code, _ = example("python", "### From Python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_command_example(capsys):
    command, shown = example("sh", "### From the command line")
    words = shlex.split(command)
    assert words[0] == "widthwise"
    assert main(words[1:]) == 0
    assert lines(capsys.readouterr().out) == lines(shown)


def test_files_that_are_linked_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_picture_is_small():
    assert (ROOT / "docs/images/learning_curve.png").stat().st_size < 100_000
