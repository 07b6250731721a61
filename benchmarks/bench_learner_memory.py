"""Peak memory of each learner at d = 300, alpha = 4 (n = 360 000), against the inputs and a limit of 4 GB.

Each learner makes one iteration in a process of its own, which tells the most it ever held (everything:
interpreter, libraries, instance, data in blocks, observables). The inputs are 0.43 GB in single precision.
"""

import resource
import subprocess
import sys

D, ALPHA, LIMIT = 300, 4.0, 4.0
OPTIONS = {"hmc": {"n_leapfrog": 1}, "adam": {}, "metropolis": {}}


def one_iteration(learner: str) -> None:
    """Run in a child: one iteration, then the peak in GB on standard output."""
    import warnings

    import widthwise as ww
    from widthwise import learners
    from widthwise.networks import sample_instance

    warnings.simplefilter("ignore", learners.NotAtEquilibrium)
    weights = "rademacher" if learner == "metropolis" else "gaussian"
    instance = sample_instance(ww.Problem("relu", weights=weights), D, ALPHA)
    getattr(learners, learner)(instance, iterations=1, progress=False, **OPTIONS[learner])
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9)


def main() -> None:
    inputs = 4 * D * ALPHA * D**2 / 1e9
    for learner in OPTIONS:
        child = subprocess.run(
            [sys.executable, __file__, learner], check=True, capture_output=True, text=True
        )
        peak = float(child.stdout)
        print(
            f"{learner:11s} peak {peak:5.2f} GB = {peak / inputs:4.1f} x the inputs, limit {LIMIT:g} GB",
            flush=True,
        )


if __name__ == "__main__":
    one_iteration(sys.argv[1]) if len(sys.argv) > 1 else main()
