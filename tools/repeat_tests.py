"""Run the tests that wait, kill or measure again and again beside busy processes, and count.

``python tools/repeat_tests.py -n 50`` runs the tests marked ``waits`` fifty times while four other processes
keep the machine busy, prints how often each has passed and failed, and keeps what a failure said. ``-m``
chooses other tests (``-m "waits and not browser"`` leaves out the page), and what follows ``--`` is for
pytest. ``--together 5`` runs five rounds in one process, in which JAX and the browser are started once;
``--busy 0`` is for a machine that is busy anyway. The exit code is 1 if any test failed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from repeat_rounds import ROUND

ROOT = Path(__file__).resolve().parents[1]
# Ends with the one who started it, however that ends.
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))\n"
NICE = 10

Outcome = tuple[str, str, str]
"""Test, "passed", "failed" or "skipped", and what it said."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=50, help="number of rounds")
    parser.add_argument("-m", default="waits", help="which tests, as pytest's -m")
    parser.add_argument("--busy", type=int, default=4, help="number of busy processes beside")
    parser.add_argument("--together", type=int, default=5, help="rounds in one process")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no round after that time")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "repeat", help="where failures are kept")
    parser.add_argument("pytest", nargs="*", help="options and files for pytest")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # also in the background, where Ctrl-C is ignored
        signal.signal(number, signal.default_int_handler)
    options.out.mkdir(parents=True, exist_ok=True)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    n_rounds, start = 0, time.monotonic()
    with busy(options.busy), contextlib.suppress(KeyboardInterrupt):
        chosen = ["-m", options.m, *(options.pytest or files(options.m))]
        while n_rounds < options.n and time.monotonic() < start + 60 * options.minutes:
            n_now = max(1, min(options.together, options.n - n_rounds))
            for test, outcome, words in some_rounds(n_now, chosen):
                counts[test][outcome] += 1
                if outcome == "failed":
                    name = f"{test.replace('/', '.').replace('::', '.')}.{counts[test]['failed']}.txt"
                    (options.out / name[-200:]).write_text(words, encoding="utf-8")
                    print(f"failed after round {n_rounds}: {test}", flush=True)
            n_rounds += n_now
            print(f"round {n_rounds} of {options.n}, {time.monotonic() - start:.0f} s", flush=True)
    for test, count in sorted(counts.items()):
        print(f"{count['passed']:5d} passed {count['failed']:4d} failed  {test}")
    n_failed = sum(count["failed"] for count in counts.values())
    n_passed = sum(count["passed"] for count in counts.values())
    print(f"{n_rounds} rounds of {len(counts)} tests beside {options.busy} busy processes: ", end="")
    print(f"{n_passed} passed, {n_failed} failed" + (f" (see {options.out})" if n_failed else ""))
    return int(n_failed > 0)


@contextlib.contextmanager
def busy(n: int) -> Iterator[None]:
    """Processes that do nothing useful, without end."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(n)]
    for process in processes:
        with contextlib.suppress(AttributeError, OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def pytest(*options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with the plugin that repeats tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "repeat_rounds"]
    paths = os.pathsep.join(filter(None, [str(ROOT / "tools"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True)


def files(which: str) -> list[str]:
    """The files that have tests of a mark: the others, most of them, need not be read in every round."""
    listed = pytest("--collect-only", "-m", which).stdout.splitlines()
    return list(dict.fromkeys(line.partition("::")[0] for line in listed if "::" in line))


def some_rounds(n: int, options: list[str]) -> Iterator[Outcome]:
    """Every chosen test n times."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        done = pytest("--rounds", str(n), f"--junitxml={report}", f"--basetemp={folder}/tmp", *options)
        if not report.exists():
            raise SystemExit(f"pytest made no report:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        yield from outcomes(report.read_text(encoding="utf-8"))


def outcomes(report: str) -> Iterator[Outcome]:
    """What a report in the format of JUnit says of each test; a failure and an error are both failures."""
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = re.sub(rf"\[{ROUND}\d+\]|-{ROUND}\d+(?=[-\]])|{ROUND}\d+-", "", case.get("name", ""))
        test = f"{case.get('classname', '').replace('.', '/')}.py::{name}"
        wrong = [part for part in case if part.tag in ("failure", "error")]
        words = "\n".join(f"{part.get('message')}\n{part.text}" for part in wrong)
        kind = "failed" if wrong else "skipped" if case.find("skipped") is not None else "passed"
        yield test, kind, words


if __name__ == "__main__":
    sys.exit(main())
