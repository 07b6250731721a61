"""GAMP-RIE against a plain NumPy version in double precision: same iteration, same number of steps.

The plain version finds the resolvent of each eigenvalue by a scalar root search, integrates the mmse with
``scipy.integrate.quad`` (default tolerances) over the density found in the same way, and forms its two
products in float64. Times are of the processor, on one thread (set ``OPENBLAS_NUM_THREADS=1``), so that
other work on the machine does not count.

``python benchmarks/bench_gamp_rie.py large`` adds d = 1000, alpha = 0.5 (n = 500 000) from a memory-mapped
file of 2 GB.
"""

import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.special import wofz

import widthwise as ww
from widthwise.experiments.instance import sample_instance
from widthwise.learners.empirical_shrinkage import EmpiricalShrinkage, KnownLaw
from widthwise.learners.gamp_rie_iteration import Design, GaussianOutput, iterate
from widthwise.learners.sample_blocks import SampleBlocks

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
        law = KnownLaw(ww.denoising.MatrixDenoiser(problem.readouts, 0.5), mu2 / (2 * math.sqrt(150)), 150)
        return iterate(
            Design(SampleBlocks(x.T)),
            y,
            law,
            GaussianOutput(),
            linear_power=mu1**2 / 150,
            max_steps=N_STEPS,
            rtol=0,
        )

    ours()
    fast, state = min((timed(ours) for _ in range(3)), key=lambda pair: pair[0])
    x64 = np.ascontiguousarray(x.T, dtype=float)
    slow, matrix = timed(lambda: Plain(readouts, 0.5, bins).run(x64, y, mu1, mu2, N_STEPS))
    apart = np.linalg.norm(matrix - state.matrix) / np.linalg.norm(matrix)
    name = f"{readouts} in {bins} bins" if bins else readouts
    print(
        f"{name}, d=150, alpha=1, {N_STEPS} steps: {fast:.3f} s, plain {slow:.2f} s, "
        f"ratio {slow / fast:.1f}; matrices {apart:.1e} apart",
        flush=True,
    )


def product_rate(d: int = 400, alpha: float = 0.5) -> None:
    """Both products of a step, counted as 4nd² operations, against one product of the same precision."""
    n = round(alpha * d**2)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d), dtype=np.float32)
    q = rng.standard_normal((d, d))
    r = rng.standard_normal(n)
    blocks = SampleBlocks(x)
    blocks.covariance  # noqa: B018  known before the first step
    q32 = q.astype(np.float32)
    gemm = 2 * n * d**2 / min(timed(lambda: x @ q32)[0] for _ in range(5))
    forms = 2 * n * d**2 / min(timed(lambda: blocks.forms(q, r[:d]))[0] for _ in range(5))
    sums = 2 * n * d**2 / min(timed(lambda: blocks.weighted_sums(r))[0] for _ in range(5))
    both = 2 / (1 / forms + 1 / sums)
    print(
        f"d={d}: matrix product {gemm / 1e9:.0f} GFlop/s; quadratic forms {forms / gemm:.0%}, weighted sums "
        f"{sums / gemm:.0%} (symmetric: half the operations), both {both / gemm:.0%}",
        flush=True,
    )


def large(d: int = 1000, alpha: float = 0.5) -> None:
    """n = 500 000 samples from a file; anonymous memory is what the file's pages do not count in."""
    problem = ww.Problem("relu", channel=0.1, gamma=0.5)
    n, k = round(alpha * d**2), d // 2
    rng = np.random.default_rng(0)
    w = rng.standard_normal((k, d)).astype(np.float32)
    y = np.empty(n)
    with tempfile.TemporaryDirectory() as folder:
        x = np.memmap(Path(folder) / "x", dtype=np.float32, mode="w+", shape=(n, d))
        for start in range(0, n, 10_000):
            part = rng.standard_normal((min(10_000, n - start), d), dtype=np.float32)
            x[start : start + 10_000] = part
            y[start : start + 10_000] = np.maximum(part @ w.T / math.sqrt(d), 0).sum(axis=1) / math.sqrt(k)
        y += math.sqrt(0.1) * rng.standard_normal(n)
        x.flush()
        begin = time.perf_counter()
        state = iterate(Design(SampleBlocks(x)), y, EmpiricalShrinkage(), GaussianOutput(), linear_power=None)
        seconds = time.perf_counter() - begin
    limit = ww.solve(problem, alpha, branch="universal").excess_error
    print(
        f"d={d} n={n}: {seconds:.0f} s, {state.n_steps} steps, {state.status}; estimated test error "
        f"{state.residual_variance:.5f}, universal branch {0.1 + limit:.5f}; "
        f"anonymous memory {anonymous_memory():.2f} GB",
        flush=True,
    )


def anonymous_memory() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1e6
    return math.nan


def timed(function):
    begin = time.process_time()
    value = function()
    return time.process_time() - begin, value


def main() -> None:
    compare("homogeneous")
    compare("gaussian")
    compare("gaussian", bins=20)
    product_rate()
    if "large" in sys.argv[1:]:
        large()


if __name__ == "__main__":
    main()
