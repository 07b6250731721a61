"""Learning curves against a plain reference: same equations, same tolerance, one run.

The reference iterates the saddle-point equations as printed in the paper; its mmse is
``scipy.integrate.quad`` of the cubed density, whose values are roots of a polynomial. It is
timed on a few points and scaled to the hundred of the curve, as it would take an hour.
"""

import subprocess
import sys
import time

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

import widthwise as ww
from widthwise.denoising import MatrixDenoiser


class Reference:
    """Fixed-point iteration with quadrature over polynomial roots."""

    def __init__(self, problem):
        self.problem = problem
        self.v = np.asarray(problem.readouts.values)
        self.p = np.asarray(problem.readouts.probabilities)
        self.n_mmse = 0

    def mmse(self, snr):
        self.n_mmse += 1
        if snr < 1e-9:
            return 1.0
        root, s = np.sqrt(snr), np.sqrt(self.problem.gamma)
        factors = [np.array([-root * v / s, 1.0]) for v in self.v]
        product = np.array([1.0])
        others = []
        for factor in factors:
            product = np.polymul(product, factor)
        for i in range(self.v.size):
            rest = np.array([1.0])
            for j, factor in enumerate(factors):
                if j != i:
                    rest = np.polymul(rest, factor)
            others.append(np.polymul([root * s * self.p[i] * self.v[i], 0.0], rest))

        def density(y):
            total = np.polymul([-1.0, y, -1.0], product)
            for part in others:
                total = np.polysub(total, part)
            return np.max(np.abs(np.roots(total).imag)) / np.pi

        edge = root * (np.sqrt(self.problem.gamma) + 4) * np.max(np.abs(self.v)) / min(1, s) + 3
        cubed = quad(lambda y: density(y) ** 3, -edge, edge, limit=400, epsabs=1e-8, epsrel=1e-8)[0]
        return (1 - 4 * np.pi**2 / 3 * cubed) / snr

    def solve(self, alpha, start, rtol=1e-8, max_steps=300):
        problem, gamma = self.problem, self.problem.gamma
        _, _, mu2 = problem.hermite
        g, slope = problem.activation.tail_kernel, problem.activation.tail_kernel_slope
        v2 = self.v**2
        r2 = problem.matrix_power
        overlap = np.full(self.v.size, start)
        q2 = r2 - 1 + start
        n_steps = 0
        while n_steps < max_steps:
            n_steps += 1
            gap = 0.5 * mu2**2 * (r2 - q2) + float(g(1.0)) - self.p @ (v2 * g(overlap))
            hat = alpha * mu2**2 / (problem.channel.noise + gap)
            m2 = self.p @ (v2 * overlap**2)
            pull = np.zeros_like(overlap)
            tau = 0.0
            if m2 > 1e-12:
                tau = brentq(lambda t, m2=m2: self.mmse(t) - 1 + m2, 0.0, 1e4, rtol=1e-8)
                h = 1e-3 * tau
                slope_tau = (self.mmse(tau + h) - self.mmse(tau - h)) / (2 * h)
                pull = v2 * overlap * (q2 - r2 + 1 - m2) / (-gamma * slope_tau)
            after = self.mmse(hat + tau)
            snr = pull + alpha / gamma * v2 * slope(overlap) / (problem.channel.noise + gap)
            new_q2, new = r2 - after, problem.weights.overlap(np.maximum(snr, 0))
            change = max(abs(new_q2 - q2), np.max(np.abs(new - overlap)))
            q2, overlap = new_q2, new
            if change < rtol:
                break
        return 0.5 * mu2**2 * (r2 - q2) + float(g(1.0)) - self.p @ (v2 * g(overlap)), n_steps


def best_of(function, repeat=3, clock=time.perf_counter):
    times = []
    for _ in range(repeat):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def fresh_curve(readouts, n_points=100, activation="relu", gamma=0.7):
    """A curve of a problem never seen before (γ is nudged, so that no cache can help)."""
    fresh_curve.count += 1
    problem = ww.Problem(activation, readouts=readouts, gamma=gamma * (1 + 1e-9 * fresh_curve.count))
    return ww.learning_curve(problem, np.linspace(0.1, 8, n_points))


fresh_curve.count = 0

# Narrow and wide networks: the spectrum has two bands that split, one, or none.
GAMMAS = (0.2, 0.35, 0.5, 0.7, 0.9, 1.2, 1.7, 2.5)


def main():
    atoms = {
        n: ww.readouts.Discrete(np.linspace(-2, 2.1, n), np.ones(n) / n, normalise=True) for n in (4, 16, 64)
    }
    ww.learning_curve(ww.Problem("relu"), [1.0])  # imports and the activation's own tables
    four = best_of(lambda: fresh_curve("four-point"))
    print(f"100-point curve, relu, four-point, gamma 0.7: {four * 1e3:.0f} ms")
    each = [best_of(lambda g=g: fresh_curve("four-point", gamma=g), 4, time.process_time) for g in GAMMAS]
    print(f"  a new gamma, mean of {len(GAMMAS)}: {np.mean(each) * 1e3:.0f} ms of processor time (aim: 100),")
    print(f"  from {min(each) * 1e3:.0f} to {max(each) * 1e3:.0f} ms")

    reference = Reference(ww.Problem("relu", readouts="four-point", gamma=0.7))
    start, used = time.perf_counter(), time.process_time()
    for alpha, branch, seed in ((1.0, "universal", 0.0), (4.0, "equilibrium", 0.9)):
        value, n_steps = reference.solve(alpha, seed)
        ours = ww.solve(reference.problem, alpha, branch).excess_error
        print(f"  reference at alpha={alpha}: {value:.8f} in {n_steps} steps; ours {ours:.8f}")
        assert abs(value / ours - 1) < 1e-5
    per_two, used = time.perf_counter() - start, time.process_time() - used
    print(f"  reference: {per_two:.1f} s for one point of each branch, {reference.n_mmse} mmse evaluations")
    print(f"  speed-up, 100 points of both branches: {100 * per_two / four:.0f} x (wanted: 500)")
    print(f"  in processor time, mean over gamma: {100 * used / np.mean(each):.0f} x")

    for n in (4, 16, 64):
        t = best_of(lambda n=n: fresh_curve(atoms[n]), 2)
        print(f"{n} distinct atoms: {t / four:.1f} x four-point")
    gaussian = best_of(lambda: fresh_curve("gaussian"), 2)
    print(f"gaussian readouts: {gaussian / four:.1f} x four-point (wanted: <= 10)")

    snr = np.geomspace(0.03, 1000, 400)
    denoiser = MatrixDenoiser("four-point", 0.7)
    t = best_of(lambda: denoiser.evaluate(snr)) / snr.size
    print(f"one mmse and its slope in a batch: {t * 1e6:.0f} us (aim: 50)")

    for readouts, wanted in (("four-point", 1.5), ("gaussian", 3.0)):
        command = [sys.executable, "-c", "from widthwise.cli import main; main()", "predict"]
        command += ["--alpha", "0.5:8:16", "--json"]
        command += ["--readouts", readouts]
        t = best_of(lambda c=command: subprocess.run(c, capture_output=True, check=True))
        print(f"shell to JSON, {readouts}: {t:.2f} s (wanted: {wanted})")
    t = best_of(lambda: subprocess.run([sys.executable, "-c", "import widthwise"], check=True))
    t0 = best_of(lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True))
    print(f"import widthwise: {t:.2f} s, of which numpy and the interpreter {t0:.2f} s (wanted: 0.4)")


if __name__ == "__main__":
    main()
