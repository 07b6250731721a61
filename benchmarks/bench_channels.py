"""Classification curves against the curve of Gaussian noise: 100 points each, first call and second.

The first call of a channel without closed form also builds its table. Aim: at most 5 times the Gaussian one.
"""

import time

import numpy as np

import widthwise as ww

CHANNELS = (
    "probit:0.1",
    "sign",
    "logistic:3",
    "laplace:0.1",
    "student-t:0.1,5",
    "poisson:3",
    "nonlinear:tanh(2*x),0.1",
    "nonlinear:max(x,0),0.1",
    "nonlinear:abs(x),0.1",
    "nonlinear:x**2,0.1",
)
ALPHAS = np.linspace(0.1, 8.0, 100)


def seconds(problem: ww.Problem) -> float:
    start = time.process_time()
    ww.learning_curve(problem, ALPHAS)
    return time.process_time() - start


def main() -> None:
    for activation in ("relu", "tanh(2*x)"):
        base = ww.Problem(activation, readouts="rademacher", channel=0.1)
        seconds(base)  # spectra and kernels, which all channels share
        reference = seconds(base.replace(channel=0.1 + 1e-9))
        print(f"{activation}: Gaussian noise {1e3 * reference:.0f} ms")
        for channel in CHANNELS:
            problem = base.replace(channel=channel)
            first, second = seconds(problem), seconds(problem)
            curve = ww.learning_curve(problem, ALPHAS)
            start = time.process_time()
            ww.error(curve, "zero-one" if problem.channel.is_discrete else "absolute")
            errors = time.process_time() - start
            print(
                f"  {channel:<24} first {1e3 * first:6.0f} ms ({first / reference:4.1f} x)"
                f"   again {1e3 * second:6.0f} ms ({second / reference:4.1f} x)"
                f"   its error {1e3 * errors:6.0f} ms"
            )


if __name__ == "__main__":
    main()
