"""Tests that wait do so as long as the machine needs, and are marked, so that they can be repeated."""

import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tools"))
from repeat_tests import busy, outcomes  # noqa: E402

FILES = sorted(path for path in HERE.rglob("*.py") if path.name not in ("patience.py", Path(__file__).name))
NUMBER = r"[\d_.]+(?![\d_.]| *\*)"
FIXED = re.compile(
    rf"timeout\s*=\s*{NUMBER}|\.wait\({NUMBER}|(?:monotonic|perf_counter|time)\(\) *[+-] *{NUMBER}"
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(HERE).as_posix())
def test_no_wait_is_of_fixed_length_and_those_who_wait_are_marked(path):
    text = path.read_text(encoding="utf-8")
    assert not FIXED.findall(text)
    if path.name.startswith("test_") and re.search("^from patience import", text, re.MULTILINE):
        assert "mark.waits" in text or path.name == "test_packaging.py"  # which builds, for minutes


def test_fixed_waits_are_found():
    for line in ("run(timeout=60)", "process.wait(60)", "end = time.monotonic() + 120", "f(x, timeout=1.5)"):
        assert FIXED.search(line)
    for line in (
        "run(timeout=PATIENCE)",
        "f(timeout=12 * PATIENCE)",
        "process.wait(2 * PATIENCE)",
        "end = time.monotonic() + seconds",
    ):
        assert not FIXED.search(line)


def test_reports_of_repeated_tests_are_counted():
    report = """<testsuites><testsuite>
    <testcase classname="tests.a.test_b" name="one[round1]" />
    <testcase classname="tests.a.test_b" name="five[y-round12]" />
    <testcase classname="tests.a.test_b" name="six[round2-y]" />
    <testcase classname="tests.a.test_b" name="two[x]"><failure message="late">where</failure></testcase>
    <testcase classname="tests.a.test_b" name="three"><skipped message="no"/></testcase>
    <testcase classname="tests.a.test_b" name="four"><error message="fixture">at</error></testcase>
    </testsuite></testsuites>"""
    found = {test.partition("::")[2]: (kind, words) for test, kind, words in outcomes(report)}
    assert found["one"] == found["five[y]"] == found["six[y]"] == ("passed", "")
    assert found["three"][0] == "skipped"
    assert found["two[x]"] == ("failed", "late\nwhere") and found["four"] == ("failed", "fixture\nat")


@pytest.mark.waits
def test_busy_processes_end_with_the_rounds(monkeypatch):
    import subprocess

    started, start = [], subprocess.Popen
    monkeypatch.setattr("subprocess.Popen", lambda *args: started.append(start(*args)) or started[-1])
    with pytest.raises(KeyboardInterrupt), busy(2):
        assert len(started) == 2 and all(process.poll() is None for process in started)
        raise KeyboardInterrupt
    assert all(process.poll() is not None for process in started)
