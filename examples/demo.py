"""A learning curve with its branches and transitions: a table, and demo/learning_curve.png.

Steep neurons with binary weights: those of large readouts are learnt first and all at once, the
others later. At each transition two branches exist side by side; the one of higher free entropy is
the equilibrium (solid), while a learner may be held up on the other (dashed).
"""

import sys
import time
from pathlib import Path

import widthwise as ww
from widthwise.cli.output import number, print_table, use_no_screen
from widthwise.cli.predict import phase
from widthwise.plotting import plot_learning_curve

FOLDER = Path("demo")

problem = ww.Problem(
    activation="tanh(2*x)", weights="rademacher", readouts="four-point", channel=0.1, gamma=0.5
)
span = (0.05, 6.0)


def main(folder: Path = FOLDER) -> None:
    start = time.perf_counter()
    rows = [
        [
            f"{point.alpha:g}",
            point.branch,
            phase(point),
            number(point.excess_error),
            *(number(point.weight_overlap[i]) for i in (-1, -2)),
            number(point.mutual_information),
        ]
        for alpha in (0.25, 0.5, 1, 2, 4, 6)
        for point in ww.solutions(problem, alpha)
        if point.is_stable
    ]
    columns = ["alpha", "branch", "phase", "excess_error", "overlap_|v| =_1.342", "overlap_|v| =_0.4472"]
    print_table([*columns, "mutual_information"], rows, title=repr(problem))
    print()
    found = ww.transitions(problem, span[1])
    print(found)

    use_no_screen()
    figure = plot_learning_curve(problem, span, found=found, is_log=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in (("learning_curve.png", {"dpi": 200}), ("learning_curve.pdf", {})):
        figure.savefig(folder / name, **options)
        print(f"figure written to {folder / name}")
    command = Path(sys.executable).parent / "widthwise"
    if command.is_relative_to(Path.cwd()):
        command = command.relative_to(Path.cwd())
    print(f"({time.perf_counter() - start:.1f} s)  Next: {command} predict --help, or edit examples/demo.py.")


if __name__ == "__main__":
    main()
