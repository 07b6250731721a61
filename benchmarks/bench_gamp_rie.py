"""GAMP-RIE against a plain NumPy version in double precision: same iteration, same number of steps.

The plain version finds the resolvent of each eigenvalue by a scalar root search, integrates the mmse with
``scipy.integrate.quad`` (default tolerances) over the density found in the same way, averages over continuous
readouts in bins, as the paper does, and forms its two products in float64. A plain version that knows the
closed form of the average over Gaussian readouts (the Faddeeva function) is timed as well. Both run as a user
runs them, with the threads that the libraries take by default: times are elapsed ones, with those of the
processor in brackets.

``python benchmarks/bench_gamp_rie.py large`` adds d = 1000, alpha = 0.5 (n = 500 000, 2 GB of single
precision): from a memory-mapped file under a limit of 2 GB (``RLIMIT_DATA``, which counts private memory and
not the pages of the file), and ``large-array`` from memory under a limit of 8 GB.
"""

import math
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.special import wofz

import widthwise as ww
from widthwise._threads import one_thread_below
from widthwise.learners.empirical_shrinkage import EmpiricalShrinkage
from widthwise.learners.gamp_rie_iteration import Design, GaussianOutput, iterate
from widthwise.learners.sample_blocks import SampleBlocks
from widthwise.networks.instance import sample_instance

N_STEPS = 6


class Plain:
    """One scalar root search for each eigenvalue and for each node of the quadrature.

    Readouts are atoms (Gaussian ones in bins, as the paper treats continuous laws), whose resolvent is the
    root of a polynomial; or, with ``bins=0``, Gaussian ones by the Faddeeva function and an averaged
    fixed-point iteration.
    """

    def __init__(self, readouts: str, gamma: float, bins: int) -> None:
        self.s = math.sqrt(gamma)
        self.is_faddeeva = readouts == "gaussian" and bins == 0
        self.v = np.ones(1)
        if readouts == "gaussian" and bins:
            self.v = ww.readouts.Gaussian().quantiles(bins)
        self.mean = 0.0 if readouts == "gaussian" else 1.0

    def root(self, y: float, snr: float) -> complex:
        """ζ in the upper half plane with y/√η = s v̄ + ζ + E v²/(ζ - v/s) + 1/(ηζ)."""
        x = y / math.sqrt(snr) - self.s * self.mean
        if self.is_faddeeva:
            zeta = x + 1j
            for _ in range(2000):
                z = self.s * zeta
                poles = self.s * (z * z * (-1j * math.sqrt(math.pi / 2) * wofz(z / math.sqrt(2))) - z)
                new = 0.5 * (zeta + x - poles - 1 / (snr * zeta))
                if abs(new - zeta) < 1e-12:
                    break
                zeta = new
            return zeta
        where = np.append(self.v / self.s, 0.0)
        weight = np.append(self.v**2 / self.v.size, 1 / snr)
        polynomial = np.polymul([1.0, -x], np.poly(where))
        for i, c in enumerate(weight):
            polynomial = np.polyadd(polynomial, c * np.poly(np.delete(where, i)))
        roots = np.roots(polynomial)
        return complex(roots[np.argmax(roots.imag)])

    def shrink(self, eigenvalues: np.ndarray, snr: float) -> np.ndarray:
        g = np.array([1 / (math.sqrt(snr) * self.root(y, snr)) for y in eigenvalues])
        return (eigenvalues - 2 * g.real) / math.sqrt(snr)

    def mmse(self, snr: float) -> float:
        def cubed(y: float) -> float:
            zeta = self.root(y, snr)
            return (zeta.imag / (abs(zeta) ** 2 * math.sqrt(snr) * math.pi)) ** 3

        reach = 2 + math.sqrt(snr) * (4 * self.s + 2 / self.s + 3)
        total = quad(cubed, -reach, reach, limit=400)[0]
        return (1 - 4 * math.pi**2 / 3 * total) / snr

    def run(self, x: np.ndarray, y: np.ndarray, mu1: float, mu2: float, n_steps: int) -> np.ndarray:
        n, d = x.shape
        scale = mu2 / (2 * math.sqrt(d))
        q, b = scale * self.s * self.mean * np.eye(d), x.T @ (y - y.mean()) / n
        onsager = np.zeros(n)
        for _ in range(n_steps):
            fit = np.sum((x @ q) * x, axis=1) - np.trace(q) + x @ b
            r = y - fit + onsager
            r -= r.mean()
            tau2 = np.mean(r**2)
            noisy = q + ((x.T * r) @ x) / (2 * n)
            b = b + x.T @ r / n
            noise_std = math.sqrt(tau2 * d / (4 * n))
            snr = (scale / noise_std) ** 2
            values, basis = np.linalg.eigh(noisy)
            q = (basis * (scale * self.shrink(values / noise_std, snr))) @ basis.T
            onsager = (2 * scale**2 * d * self.mmse(snr) / tau2 + d / n) * r
        return q


def compare(readouts: str, bins: int = 0) -> None:
    problem = ww.Problem("relu", readouts=readouts, channel=0.1, gamma=0.5)
    instance = sample_instance(problem, 150, 1.0, 0)
    x, y = instance.inputs, instance.labels
    _, mu1, mu2 = problem.hermite

    def ours():
        return ww.learners.gamp_rie(instance, iterations=N_STEPS, rtol=0)

    ours()
    fast, fast_cpu, run = min((clocked(ours) for _ in range(3)), key=lambda found: found[0])
    x64 = np.ascontiguousarray(x.T, dtype=float)
    slow, slow_cpu, matrix = clocked(lambda: Plain(readouts, 0.5, bins).run(x64, y, mu1, mu2, N_STEPS))
    apart = np.linalg.norm(matrix - run.trace["matrix"] * mu2 / (2 * math.sqrt(150))) / np.linalg.norm(matrix)
    name = readouts
    if readouts == "gaussian":
        name += f" (plain: {bins} bins)" if bins else " (plain: closed form of the average)"
    print(
        f"{name}, d=150, alpha=1, {N_STEPS} steps: {fast:.3f} s ({fast_cpu:.3f}), plain {slow:.2f} s "
        f"({slow_cpu:.2f}), ratio {slow / fast:.1f} ({slow_cpu / fast_cpu:.1f}); matrices {apart:.1e} apart",
        flush=True,
    )


def product_rate(d: int = 400, alpha: float = 0.5) -> None:
    """Both products of a step against one general product of the same precision and shape.

    Each does n d² of the 2 n d² operations of a general one; the rate is that of operations done.
    """
    n = round(alpha * d**2)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d), dtype=np.float32)
    q = rng.standard_normal((d, d))
    r = rng.standard_normal(n)
    blocks = SampleBlocks(x)
    blocks.covariance  # noqa: B018  known before the first step
    q32 = q.astype(np.float32)
    with one_thread_below(d):  # as the learner does
        gemm = min(timed(lambda: x @ q32)[0] for _ in range(5))
        forms = min(timed(lambda: blocks.forms(q, r[:d]))[0] for _ in range(5))
        sums = min(timed(lambda: blocks.weighted_sums(r))[0] for _ in range(5))
    print(
        f"d={d}: matrix product {2 * n * d**2 / gemm / 1e9:.0f} GFlop/s; a step's two products take "
        f"{(forms + sums) / (2 * gemm):.0%} of the time of two such; rate of operations done "
        f"{0.5 * gemm / forms:.0%} (quadratic forms), {0.5 * gemm / sums:.0%} (weighted sums), "
        f"{gemm / (forms + sums):.0%} (both)",
        flush=True,
    )


def large(is_mapped: bool, d: int = 1000, alpha: float = 0.5) -> None:
    """Under a limit on private memory: what is above it is refused by the system."""
    limit = (2 if is_mapped else 8) * 2**30
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    problem = ww.Problem("relu", channel=0.1, gamma=0.5)
    n, k = round(alpha * d**2), d // 2
    rng = np.random.default_rng(0)
    w = rng.standard_normal((k, d)).astype(np.float32)
    y = np.empty(n)
    with tempfile.TemporaryDirectory() as folder:
        if is_mapped:
            x = np.memmap(Path(folder) / "x", dtype=np.float32, mode="w+", shape=(n, d))
        else:
            x = np.empty((n, d), dtype=np.float32)
        for start in range(0, n, 10_000):
            part = rng.standard_normal((min(10_000, n - start), d), dtype=np.float32)
            x[start : start + 10_000] = part
            y[start : start + 10_000] = np.maximum(part @ w.T / math.sqrt(d), 0).sum(axis=1) / math.sqrt(k)
        y += math.sqrt(0.1) * rng.standard_normal(n)
        peaks = []

        def observe(state):
            peaks.append(private_memory())
            print(f"  step {state.n_steps}: {peaks[-1]:.2f} GB", file=sys.stderr, flush=True)
            return {}

        wall, processor = time.perf_counter(), time.process_time()
        state = iterate(
            Design(SampleBlocks(x)),
            y,
            EmpiricalShrinkage(),
            GaussianOutput(),
            linear_power=None,
            callback=observe,
        )
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    limit_error = ww.solve(problem, alpha, branch="universal").excess_error
    print(
        f"d={d} n={n} {'memory-mapped' if is_mapped else 'in memory'}, limit {limit / 2**30:.0f} GiB: "
        f"{wall:.0f} s ({processor:.0f} s of the processor), {state.n_steps} steps, {state.status}; "
        f"estimated test error {state.residual_variance:.5f}, universal branch {0.1 + limit_error:.5f}; "
        f"private memory {max(peaks):.2f} GB",
        flush=True,
    )


def private_memory() -> float:
    """GB of resident memory that is no file's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1e6
    return math.nan


def clocked(function):
    begin, processor = time.perf_counter(), time.process_time()
    value = function()
    return time.perf_counter() - begin, time.process_time() - processor, value


def timed(function):
    begin = time.process_time()
    value = function()
    return time.process_time() - begin, value


def main() -> None:
    compare("homogeneous")
    compare("gaussian", bins=20)
    compare("gaussian")
    product_rate()


if __name__ == "__main__":
    if sys.argv[1:] in (["large"], ["large-array"]):
        large(is_mapped=sys.argv[1] == "large")
    else:
        main()
