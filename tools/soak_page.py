"""Ask a running explorer thousands of things, some of them hostile, and check every answer.

``python tools/soak_page.py -n 2000 --seed 7`` starts ``widthwise explore``, asks from several threads at once
for curves, points, the page and its files, mixed with broken, foreign, oversized and malicious requests, and
then ends the server by SIGTERM. Points of the curves are compared with ``widthwise.solutions``; the server
must answer in the end as in the beginning, its memory must stay flat, and no process may be left. The exit
code is 1 otherwise. To be told that others wait, or that it takes too long, is an answer too, and counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "tests", ROOT / "tools"):
    sys.path.insert(0, str(folder))
import widthwise as ww  # noqa: E402
from kill_sweeps import children  # noqa: E402
from patience import PATIENCE, is_alive, until  # noqa: E402
from widthwise.explorer.state import DEFAULTS, problem_fields, problem_of  # noqa: E402

ACTIVATIONS = ("relu", "tanh", "own")
FORMULAS = ("tanh(2*x)", "x**3-3*x", "relu(x)-0.3*x")
READOUTS = ("homogeneous", "gaussian", "four-point")
FILES = ("", "_dash-layout", "_dash-dependencies", "assets/page.js", "_favicon.ico")
LONG = "tanh(" * 30 + "x" + ")" * 30
HOSTILE: tuple[tuple[str, bytes | None, dict[str, str]], ...] = (
    ("live/curve", b"", {}),
    ("live/curve", b"{", {}),
    ("live/curve", b"[" * 20_000, {}),
    ("live/curve", b"\xff" * 500, {}),
    ("live/curve", b'{"gamma": 1e999, "reach": -1}', {}),
    ("live/curve", b'{"activation": "own", "formula": "__import__(\\"os\\")"}', {}),
    ("live/curve", b"x" * 2_100_000, {}),
    ("live/curve", b"{}", {"Origin": "http://evil.example"}),
    ("live/point", b'{"alpha": "NaN"}', {}),
    ("live/point", b'{"alpha": [], "tab": {"a": 1}}', {}),
    ("_dash-update-component", b'{"output": "exact.data"}', {}),
    ("_dash-update-component", b'{"output": "..file.data..", "inputs": 3}', {}),
    ("assets/../server.py", None, {}),
    ("../../../../etc/passwd", None, {}),
    ("%2e%2e/%2e%2e/etc/passwd", None, {}),
    ("", None, {"Host": "evil.example"}),
    ("?" + "a" * 9000, None, {}),
    ("_dash-component-suites/x/y.js", None, {}),
)


class Soak:
    """The requests of one run, and what came of them."""

    def __init__(self, address: str, n: int, seed: int) -> None:
        self.address, self.n, self.seed = address, n, seed
        self.left = iter(range(n))
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.points: list[tuple[dict[str, Any], float, float]] = []
        self.times: list[float] = []

    def work(self) -> None:
        """Ask until there is nothing left to ask."""
        while True:
            with self.lock:
                i = next(self.left, None)
            if i is None:
                return
            rng = np.random.default_rng([self.seed, i])
            kind = str(rng.choice(["curve", "point", "file", "hostile"], p=[0.4, 0.15, 0.15, 0.3]))
            start = time.perf_counter()
            try:
                said = getattr(self, f"ask_{kind}")(rng)
            except Exception as error:  # no answer at all is what must not happen
                said = f"{type(error).__name__}: {error}"
            with self.lock:
                self.times.append(time.perf_counter() - start)
                self.counts[kind] += 1
                if said:
                    self.faults.append(f"request {i} ({kind}): {said}")

    def ask_curve(self, rng: np.random.Generator) -> str:
        state = self.state(rng)
        status, body = self.fetch("live/curve", state)
        if status == 204:  # a newer question of the same tab took its place
            return ""
        found = json.loads(body)["found"]
        if any("too long" in words or "Too many" in words for words in found.get("errors", {}).values()):
            with self.lock:
                self.counts["told to wait"] += 1
            return ""
        if status != 200 or found.get("errors"):
            return f"{status}: {found.get('errors')} for {state}"
        for trace in found["figure"]["data"]:
            shown = [(x, y) for x, y in zip(trace["x"], trace["y"], strict=True) if y is not None]
            if trace.get("name") == "equilibrium" and shown:
                x, y = shown[int(rng.integers(len(shown)))]
                with self.lock:
                    self.points.append((state, x, y))
        return ""

    def ask_point(self, rng: np.random.Generator) -> str:
        state = self.state(rng) | {"alpha": float(rng.choice([0.3, 1.7, 4.0]))}
        status, body = self.fetch("live/point", state)
        if status == 204:
            return ""
        found = json.loads(body)["found"]
        if any("too long" in words or "Too many" in words for words in found.get("errors", {}).values()):
            with self.lock:
                self.counts["told to wait"] += 1
            return ""
        return "" if status == 200 and found.get("words") else f"{status}: {found} for {state}"

    def ask_file(self, rng: np.random.Generator) -> str:
        path = str(rng.choice(FILES))
        status, body = self.fetch(path)
        return "" if status == 200 and body else f"{path}: {status}"

    def ask_hostile(self, rng: np.random.Generator) -> str:
        path, content, headers = HOSTILE[int(rng.integers(len(HOSTILE)))]
        status, body = self.fetch(path, content, **headers)
        if "evil" in "".join(headers.values()) and status != 403:
            return f"{headers}: {status}, not refused"
        if b"Traceback" in body or b"root:" in body or b"def make_app" in body:
            return f"{path}: says {body[:80]!r}"
        return ""

    def state(self, rng: np.random.Generator) -> dict[str, Any]:
        """The controls of a tab, of few enough kinds that some are asked for twice."""
        return dict(DEFAULTS) | {
            "activation": str(rng.choice(ACTIVATIONS)),
            "formula": str(rng.choice(FORMULAS)),
            "readouts": str(rng.choice(READOUTS)),
            "noise": float(rng.choice([0.1, 0.3])),
            "gamma": float(rng.choice([0.3, 0.5, 1.7])),
            "tab": f"tab {rng.integers(40)}",
        }

    def fetch(self, path: str, content: Any = None, **headers: str) -> tuple[int, bytes]:
        data = json.dumps(content).encode() if isinstance(content, dict) else content
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.address + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except (ConnectionError, urllib.error.URLError):
            if data is not None and len(data) > 2_000_000:  # hung up on, which is an answer
                return 413, b""
            raise

    def check_points(self, rng: np.random.Generator, n: int = 200) -> int:
        """Compare some of the points that were drawn with the theory, one by one."""
        chosen = rng.permutation(len(self.points))[:n]
        for i in chosen:
            state, x, y = self.points[int(i)]
            problem, _ = problem_of(problem_fields(state))
            assert problem is not None
            known = [s.excess_error for s in ww.solutions(problem, x)]
            if not any(abs(y - e) <= 1e-6 * e + 1e-12 for e in known):
                self.faults.append(f"alpha = {x!r} of {problem!r}: drawn {y!r}, known {known}")
        return len(chosen)


def memory(pid: int) -> float:
    """Resident memory in MB."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return int(found[1]) / 1024 if found else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=2000, help="number of requests")
    parser.add_argument("--seed", type=int, default=None, help="of the requests; fresh unless given")
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    print(f"{options.n} requests, seed {seed}", flush=True)
    command = [sys.executable, "-m", "widthwise", "explore", "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    found = re.search(r"http://\S+", server.stderr.readline())
    assert found is not None, "the explorer did not start"
    threading.Thread(target=server.stderr.read, daemon=True).start()
    soak = Soak(found[0], options.n, seed)
    threads = [threading.Thread(target=soak.work) for _ in range(options.threads)]
    used: list[tuple[int, float, float]] = []
    start = time.monotonic()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(2.0)
        workers = [memory(pid) for pid in children(server.pid)]
        used.append((len(soak.times), memory(server.pid), max(workers, default=0.0)))
    seconds = time.monotonic() - start
    if soak.fetch("")[0] != 200:
        soak.faults.append("the page is gone")
    left = children(server.pid)
    server.send_signal(signal.SIGTERM)
    server.wait(PATIENCE)
    until(lambda: not any(map(is_alive, left)), "a worker outlived the server")
    n_points = soak.check_points(np.random.default_rng(seed))
    third = [own for n, own, _ in used if n >= options.n / 3] or [used[-1][1]]
    grown = used[-1][1] / third[0]
    if grown > 1.2:
        soak.faults.append(f"the server grew from {third[0]:.0f} to {used[-1][1]:.0f} MB")
    print(f"{len(soak.times)} requests in {seconds:.0f} s: {dict(soak.counts)}")
    print(f"longest answer {max(soak.times):.1f} s, median {np.median(soak.times):.3f} s")
    print(f"server {third[0]:.0f} MB after a third, {used[-1][1]:.0f} MB in the end")
    print(
        f"largest worker {max(worker for *_, worker in used):.0f} MB; {len(left)} processes, none left behind"
    )
    print(f"{n_points} points compared with the theory")
    for fault in soak.faults[:20]:
        print("FAULT", fault)
    print(f"{len(soak.faults)} faults")
    return 1 if soak.faults else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    raise SystemExit(main())
