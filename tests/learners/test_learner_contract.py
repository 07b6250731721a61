"""What every learner promises: one signature, one result, checkpoints, limits, and refusals that help."""

import warnings

import numpy as np
import pytest

import widthwise as ww
from widthwise.learners import LEARNERS, NotAtEquilibrium, Run, adam, hmc, metropolis
from widthwise.learners import loop as loop_module
from widthwise.networks import sample_instance
from widthwise.networks.instance import Instance

pytestmark = pytest.mark.filterwarnings("ignore::widthwise.learners.NotAtEquilibrium")

CASES = {
    "hmc": (hmc, ww.Problem("relu", readouts="four-point", gamma=0.6), {"n_chains": 2, "n_warmup": 4}),
    "metropolis": (metropolis, ww.Problem("relu", weights="rademacher", gamma=0.6), {"n_chains": 2}),
    "tempered": (metropolis, ww.Problem("relu", weights="rademacher", gamma=0.6), {"temperatures": (1, 3)}),
    "adam": (adam, ww.Problem("relu", readouts="four-point", gamma=0.6), {}),
}
everyone = pytest.mark.parametrize("name", CASES)


def small(name, **options):
    learner, problem, extra = CASES[name]
    inst = sample_instance(problem, d=10, alpha=1.5, seed=2)
    return learner(
        inst, **{"iterations": 12, "record_every": 3, "seed": 1, "progress": False} | extra | options
    )


def same(first, second):
    return all(np.array_equal(first.trace[v], second.trace[v], equal_nan=True) for v in first.trace.data_vars)


@everyone
def test_result(name):
    run = small(name, start="teacher")
    assert isinstance(run, Run) and run.status == "done" and run.learner in LEARNERS
    assert list(run.trace["draw"].to_numpy()) == [0, 3, 6, 9, 12]
    assert run.trace["excess_error"].dims == ("chain", "draw")
    assert float(run.trace["gibbs_excess_error"][0, 0]) == pytest.approx(
        0, abs=1e-5
    )  # the start is the teacher
    assert run.weight_overlap.shape == run.readout_values.shape
    assert run.timings["iterations"] == 12 and run.timings["seconds"] > 0
    half = 0.5 if run.is_sampler else 1.0
    assert run.excess_error == pytest.approx(half * run.gibbs_excess_error)
    noise = run.instance.problem.channel.noise
    assert run.test_error > 0.8 * noise
    row = run.summary()
    assert row["d"] == 10 and np.isfinite(row["matrix_overlap_centred"])
    assert run.moving_average("excess_error", 2).shape == run.trace["excess_error"].shape


@pytest.mark.slow
@everyone
def test_seed_decides(name):
    assert same(small(name, start="random"), small(name, start="random"))
    assert not same(small(name, start="random"), small(name, start="random", seed=2))


@pytest.mark.slow
@everyone
def test_resume_is_exact(name, tmp_path):
    whole = small(name, start="random")
    file = tmp_path / "run.npz"
    part = small(name, start="random", iterations=6, checkpoint=file)
    assert part.timings["iterations"] == 6 and file.exists()
    resumed = small(name, start="random", checkpoint=file)
    assert same(whole, resumed) and np.array_equal(whole.weights, resumed.weights)
    with pytest.raises(ValueError, match="belongs to another run"):
        small(name, start="random", seed=9, checkpoint=file)


@pytest.mark.slow
@everyone
def test_interrupt_keeps_what_is_done(name, monkeypatch, tmp_path):
    add, n_calls = loop_module._Book.add, []

    def interrupted(self, *args, **kwargs):
        n_calls.append(1)
        if len(n_calls) == 3:
            raise KeyboardInterrupt
        add(self, *args, **kwargs)

    monkeypatch.setattr(loop_module._Book, "add", interrupted)
    run = small(name, start="random", checkpoint=tmp_path / "run.npz")
    assert run.status == "interrupted" and run.trace.sizes["draw"] == 2
    monkeypatch.undo()
    resumed = small(name, start="random", checkpoint=tmp_path / "run.npz")
    assert resumed.status == "done" and same(resumed, small(name, start="random"))


@everyone
def test_time_limit(name):
    run = small(name, max_seconds=0.0)
    assert run.status == "out of time" and run.trace.sizes["draw"] == 1
    assert np.isfinite(run.excess_error)


@everyone
def test_progress_goes_to_stderr(name, capsys):
    small(name, progress=True)
    captured = capsys.readouterr()
    assert captured.out == "" and "12/12" in captured.err


@everyone
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "nowhere"}, "start must be 'teacher'"),
        ({"start": np.zeros((3, 3))}, r"start must have the shape \(6, 10\)"),
        ({"start": np.full((6, 10), np.nan)}, "finite"),
        ({"iterations": 0}, "iterations must be a whole number >= 1"),
        ({"record_every": 0}, "record_every must be"),
        ({"n_chains": 0}, "n_chains must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_input(name, options, message):
    with pytest.raises(ValueError, match=message):
        small(name, **options)


def test_learner_for_the_weights():
    inst = sample_instance(CASES["metropolis"][1], d=10, alpha=1.0)
    with pytest.raises(ValueError, match="use metropolis"):
        hmc(inst)
    with pytest.raises(ValueError, match="use metropolis"):
        hmc(sample_instance(ww.Problem("sign(x)"), d=10, alpha=1.0))
    with pytest.raises(ValueError, match="have an atom"):
        hmc(sample_instance(ww.Problem("relu", weights="sparse-gaussian(0.2)"), d=10, alpha=1.0))
    with pytest.raises(ValueError, match="readouts are discrete"):
        hmc(sample_instance(ww.Problem("relu"), d=10, alpha=1.0), learn_readouts=True)
    with pytest.raises(ValueError, match="atoms of the law"):
        metropolis(inst, start=np.full((6, 10), 0.3))


def test_bad_options():
    with pytest.raises(ValueError, match="scan must be"):
        small("metropolis", scan="backwards")
    with pytest.raises(ValueError, match="temperatures must increase"):
        small("metropolis", temperatures=(2.0, 1.0))
    with pytest.raises(ValueError, match="batch_size must be"):
        small("adam", batch_size=10_000)
    with pytest.raises(ValueError, match="unknown schedule"):
        small("adam", schedule="sometimes")
    with pytest.raises(ValueError, match="cannot be differentiated by JAX"):
        hmc(sample_instance(ww.Problem(lambda x: np.tanh(np.asarray(x))), d=6, alpha=1.0))


def test_memory_is_estimated(monkeypatch):
    from widthwise.networks import instance as module

    inst = sample_instance(CASES["hmc"][1], d=10, alpha=1.0)
    inst.labels  # drawn while there was room
    monkeypatch.setattr(module, "free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match="sampling at d = 10"):
        hmc(inst, iterations=2)
    binary = sample_instance(CASES["metropolis"][1], d=3, alpha=1.0)
    with pytest.raises(MemoryError, match="pre-activations"):
        metropolis(binary, iterations=2, n_chains=20)


@pytest.mark.slow
def test_inference_data_and_diagnostics():
    arviz = pytest.importorskip("arviz")
    run = small("hmc", iterations=40, record_every=1)
    data = run.to_inference_data()
    assert "excess_error" in data.posterior and "acceptance" in data.sample_stats
    table = arviz.summary(data, var_names=["excess_error", "matrix_overlap_centred"])
    assert {"r_hat", "ess_bulk"} <= set(table.columns)
    assert run.standard_error("excess_error") > 0


@pytest.mark.slow
def test_warning_out_of_equilibrium():
    """A few iterations from the teacher are no draw from the posterior, and two replicas say so."""
    inst = sample_instance(ww.Problem("relu", gamma=0.6, channel=1.0), d=20, alpha=0.5, seed=1)
    with pytest.warns(NotAtEquilibrium, match="run longer"):
        hmc(inst, iterations=8, n_leapfrog=2, step_size=0.05, n_warmup=0, n_chains=2)


def test_adam_keeps_the_best_network():
    run = small("adam", iterations=60, record_every=1, learning_rate=0.3, batch_size=5)
    errors = run.trace["excess_error"].to_numpy()[0]
    assert run.excess_error == errors.min() < errors[-1]
    from widthwise.networks import Observer

    assert Observer(run.instance)(run.weights[0])["gibbs_excess_error"] == pytest.approx(
        errors.min(), rel=1e-5
    )
    stopped = small("adam", iterations=60, record_every=1, learning_rate=0.3, batch_size=5, patience=3)
    assert stopped.status == "stopped early" and stopped.timings["iterations"] < 60


@pytest.mark.slow
def test_adam_judges_by_samples_it_does_not_train_on():
    options = {"iterations": 60, "record_every": 1, "learning_rate": 0.3, "batch_size": 5, "held_out": 0.25}
    run = small("adam", **options)
    inst, loss = run.instance, run.trace["held_out_loss"].to_numpy()[0]
    assert (
        np.isnan(loss[0]) and run.excess_error == run.trace["excess_error"].to_numpy()[0][np.nanargmin(loss)]
    )
    x, y = inst.inputs[:, -round(0.25 * inst.n) :], inst.labels[-round(0.25 * inst.n) :]
    noise = inst.problem.channel.noise
    residual = y - inst.outputs(run.weights[0], x)
    exact = 0.5 * np.mean(residual**2) / noise + 0.5 * np.log(2 * np.pi * noise)
    assert np.nanmin(loss) == pytest.approx(exact, rel=1e-5)
    # Labels that are held out change which network is kept, never how it is trained.
    other = Instance.from_arrays(
        inst.problem,
        inst.inputs,
        np.concatenate([inst.labels[: -len(y)], -y]),
        weights=inst.weights,
        readouts=inst.readouts,
        seed=inst.seed,
        dtype=inst.dtype,
    )
    again = adam(other, seed=1, progress=False, **options)
    assert np.array_equal(run.trace["excess_error"], again.trace["excess_error"])
    assert not np.array_equal(run.trace["held_out_loss"][0, 1:], again.trace["held_out_loss"][0, 1:])
    with pytest.raises(ValueError, match="held_out must be in"):
        small("adam", held_out=1.0)


@pytest.mark.slow
def test_learnt_readouts_move():
    problem = ww.Problem("tanh(2*x)", readouts="gaussian", gamma=0.6)
    inst = sample_instance(problem, d=10, alpha=1.5, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotAtEquilibrium)
        sampled = hmc(inst, iterations=20, learn_readouts=True)
    trained = adam(inst, iterations=20, learn_readouts=True)
    for run in (sampled, trained):
        assert run.readouts.shape == (1, inst.k) and not np.allclose(run.readouts, inst.readouts)


@everyone
def test_signature_is_shared(name):
    """One signature: the options of every learner, then its own; what is not among them is refused."""
    import inspect

    learner = CASES[name][0]
    names = list(inspect.signature(learner).parameters)
    shared = ["start", "iterations", "record_every", "n_chains", "seed", "discard", "progress"]
    shared += ["checkpoint", "max_seconds"]
    if learner is adam:
        shared.remove("discard")
    assert names[: len(shared) + 1] == ["instance", *shared]
    assert all(f"{option}" in learner.__doc__ for option in names)
    with pytest.raises(TypeError, match="nonsense"):
        small(name, nonsense=1)
