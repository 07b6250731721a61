"""How well a wide two-layer neural network can be learnt, and how far a learner is from that limit."""

# isort: off
from . import _starting  # noqa: F401  before anything that takes long to import: Ctrl-C

# isort: on
from importlib import import_module
from typing import Any

from . import _display, denoising
from ._version import __version__
from .ingredients import channels, inputs, readouts, weights
from .ingredients.activations import Activation
from .problem import Problem
from .theory import (
    LearningCurve,
    NotConverged,
    PhaseDiagram,
    SamplesNeeded,
    ScalingLaw,
    Solution,
    Transition,
    error,
    learning_curve,
    onset,
    phase_diagram,
    samples_needed,
    scaling_law,
    solutions,
    solve,
    solve_linear,
    trace_branches,
    transitions,
)

__all__ = [
    "Activation",
    "LearningCurve",
    "NotConverged",
    "PhaseDiagram",
    "Problem",
    "SamplesNeeded",
    "ScalingLaw",
    "Solution",
    "Transition",
    "__version__",
    "channels",
    "denoising",
    "error",
    "inputs",
    "learning_curve",
    "onset",
    "phase_diagram",
    "readouts",
    "samples_needed",
    "scaling_law",
    "solutions",
    "solve",
    "solve_linear",
    "trace_branches",
    "transitions",
    "weights",
]


# What needs the optional extras is imported when it is first asked for.
_LAZY = {
    "experiments": "",
    "learners": "",
    "networks": "",
    "plotting": "",
    "studies": "",
    "sweeps": "",
    "sample_instance": "networks.instance",
    "GampRieRegressor": "learners.regressor",
    "yardstick": "studies.yardstick",
    "Sweep": "sweeps.sweep",
    "open_store": "sweeps.store",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not _LAZY[name]:
        return import_module(f"{__name__}.{name}")
    try:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    except ModuleNotFoundError as error:
        from ._extras import MissingExtra, sentence

        text = sentence(error, name)
        if text is None:
            raise
        raise MissingExtra(text, name=error.name) from None


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])


def _load_views() -> None:
    from .plotting import notebook, plot_methods  # noqa: F401


def _load_interactive() -> None:
    from .explorer import figures  # noqa: F401


def _load_comparison() -> None:
    from .networks import measurements  # noqa: F401


# Figures and tables lie above what they show: the package, which knows both, brings them together.
_display.load_views_with(views=_load_views, interactive=_load_interactive, comparison=_load_comparison)
