"""Sweeps: expansion, files with the line of what is wrong, running, resuming."""

import concurrent.futures
import textwrap
from types import SimpleNamespace

import pytest

import widthwise as ww
from widthwise.sweeps import LocalProcesses, Sweep, Task, open_store, run_task, run_tasks
from widthwise.sweeps.estimate import forecast
from widthwise.sweeps.store import Store
from widthwise.sweeps.sweep import LearnerSpec
from widthwise.sweeps.sweep_file import SweepFileError, read_sweep

PROBLEMS = [ww.Problem("relu", gamma=0.6), ww.Problem("relu", gamma=0.6, readouts="four-point")]
WALK = "trivial_learners:walk"


def test_every_combination_once():
    sweep = Sweep(PROBLEMS, [10, 12], [0.5, 1.5, 2.5], 4, [WALK, ("gamp_rie", {"damping": 0.1})])
    tasks = sweep.tasks()
    assert len(tasks) == len(set(tasks)) == 2 * 2 * 3 * 4 * 2
    assert {task.seed for task in tasks} == {0, 1, 2, 3}
    doubled = Sweep([PROBLEMS[0], PROBLEMS[0]], 10, 1.0, [0, 0, 1], [WALK])
    assert len(doubled.tasks()) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": [1.0, -2.0]}, "alpha must hold numbers > 0"),
        ({"d": [10.5]}, "d must hold whole numbers >= 1, got .*10.5"),
        ({"seeds": 0}, "seeds must be a number >= 1"),
        ({"learners": []}, "learners must not be empty"),
        ({"learners": [("hmc", {"iteration": 3})]}, "hmc has no setting 'iteration'; it takes start"),
        ({"problems": [ww.Problem(abs)]}, "bare callable"),
        ({"dtype": "float16"}, "dtype must be"),
        ({"d": [10, 1], "problems": ww.Problem(gamma=0.3)}, "d = 1 is too small for gamma = 0.3"),
        ({"d": 3, "alpha": [4, 0.05]}, "alpha = 0.05 at d = 3 leaves no sample"),
    ],
    ids=str,
)
def test_bad_sweeps_are_refused(change, message):
    good = {"problems": PROBLEMS, "d": 10, "alpha": 1.0, "seeds": 1, "learners": ["hmc"]}
    with pytest.raises(ValueError, match=message):
        Sweep(**{**good, **change})


GOOD = """\
d = [10, 12]
alpha = "0.5:1.5:3"
seeds = 2

[[problem]]
activation = "relu"
readouts = ["homogeneous", "four-point"]
noise = 0.2
gamma = 0.6

[[learner]]
name = "trivial_learners:walk"
steps = 3

[[learner]]
name = "gamp_rie"
damping = 0.1
"""


def written(tmp_path, text):
    path = tmp_path / "sweep.toml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def test_file_says_the_same(tmp_path):
    sweep = Sweep.from_toml(written(tmp_path, GOOD))
    problems = [
        ww.Problem("relu", channel=0.2, gamma=0.6, readouts=law) for law in ("homogeneous", "four-point")
    ]
    same = Sweep(
        problems, [10, 12], [0.5, 1.0, 1.5], [0, 1], [(WALK, {"steps": 3}), ("gamp_rie", {"damping": 0.1})]
    )
    assert sweep.tasks() == same.tasks()


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('alpha = "0.5:1.5:3"', "alpha = [0.5, 0]", 2, "alpha must hold numbers > 0"),
        ('alpha = "0.5:1.5:3"', 'alpha = "0.5:1.5"', 2, "first:last:count"),
        ("seeds = 2", "seed = 2", 3, "a sweep has no 'seed'; did you mean 'seeds'"),
        ("seeds = 2", "seeds = [0, -1]", 3, "whole numbers >= 0"),
        ('"relu"', '"rleu"', 6, "unknown activation 'rleu'"),
        ('"four-point"]', '"fourpoint"]', 7, "unknown readouts 'fourpoint'"),
        ("noise = 0.2", "noise = -0.2", 8, "noise must be > 0"),
        ("gamma = 0.6", "gamma = 0", 9, "gamma must be > 0"),
        ("gamma = 0.6", "width = 0.6", 9, "a problem has no 'width'"),
        ("steps = 3", "step = 3", 13, "has no setting 'step'"),
        ('"gamp_rie"', '"gamp_rei"', 16, "unknown learner 'gamp_rei'"),
        ("damping = 0.1", "damping = = 0.1", 17, "invalid value"),
        ("seeds = 2", 'seeds = 2\nis_readout_drawn = "no"', 4, "is_readout_drawn must be true or false"),
        ("seeds = 2", "seeds = 2\nis_readout_drawn = 0", 4, "is_readout_drawn must be true or false, got 0"),
        ("seeds = 2", 'seeds = 2\ndtype = "object"', 4, "dtype must be 'float32' or 'float64', got 'object'"),
        ("seeds = 2", 'seeds = 2\ndtype = ["float32"]', 4, "dtype must be 'float32' or"),
        ("gamma = 0.6", 'gamma = 0.6\nnormalise = "no"', 10, "normalise must be true or false, got 'no'"),
        ('"relu"', "[]", 6, "activation must not be an empty list"),
        ("gamma = 0.6", "gamma = nan", 9, "gamma must be > 0 and finite"),
        ("gamma = 0.6", f"gamma = {[0.3 + i / 1e4 for i in range(6000)]}", 9, "at most 10000 problems"),
        ("d = [10, 12]", "d = inf", 1, "d must hold whole numbers >= 1.*, got inf"),
        ("d = [10, 12]", "d = nan", 1, "d must hold whole numbers >= 1.*, got nan"),
        ("d = [10, 12]", "d = {a = 1}", 1, "d must hold whole numbers"),
        ("d = [10, 12]", "d = [[1, 2], [3]]", 1, "d must hold whole numbers"),
        ("d = [10, 12]", 'd = [10, "12"]', 1, "d must hold whole numbers >= 1.*, got '12'"),
        ("d = [10, 12]", "d = 2020-01-01", 1, "d must hold whole numbers"),
        ("d = [10, 12]", "d = []", 1, "d must not be an empty list"),
        ("d = [10, 12]", "d = 100000000", 1, "inputs of .* TiB, more than any machine holds"),
        ("d = [10, 12]", "d = 1e300", 1, "d must hold whole numbers"),
        ('alpha = "0.5:1.5:3"', "alpha = [[0.5], [1]]", 2, "alpha must hold numbers > 0"),
        ('alpha = "0.5:1.5:3"', "alpha = inf", 2, "alpha must hold numbers > 0"),
        ('alpha = "0.5:1.5:3"', 'alpha = "0.5:1.5:1000000000"', 2, "count >= 2 and <= 100000"),
        ('alpha = "0.5:1.5:3"', 'alpha = "nan:1.5:3"', 2, "alpha must hold numbers > 0"),
        ("seeds = 2", "seeds = inf", 3, "seeds must hold whole numbers >= 0, got inf"),
        ("seeds = 2", "seeds = true", 3, "seeds must hold whole numbers >= 0, got True"),
        ("seeds = 2", "seeds = 10000000000000000", 3, "seeds must be a number >= 1"),
        ("damping = 0.1", "damping = nan", 17, "setting 'damping' of gamp_rie must be a finite number"),
        ("damping = 0.1", 'damping = "much"', 17, "setting 'damping' of gamp_rie must be a number"),
        (
            "damping = 0.1",
            "damping = 2020-01-01",
            17,
            "setting 'damping' of gamp_rie must be a finite number",
        ),
        ('"gamp_rie"', '".:b"', 16, "learner '.:b' cannot be imported"),
        ('"gamp_rie"', '":"', 16, "learner ':' cannot be imported"),
        ('"gamp_rie"', '"builtins:int"', 16, "learner 'builtins:int' is not a function of an instance"),
        ('"gamp_rie"', '"this_ends_python:x"', 16, "cannot be imported: its module ends Python"),
        ("d = [10, 12]", f"d = {'9' * 400}", 1, "<= .*, got a whole number of about 400 digits"),
        ("d = [10, 12]", f"d = 0x{'f' * 5000}", 1, "<= .*, got a whole number of about 6021 digits"),
        ("d = [10, 12]", f"d = {'9' * 5000}", 1, "a number of too many digits; shorten it"),
        ('alpha = "0.5:1.5:3"', f"alpha = {'9' * 400}", 2, "numbers > 0 and < 1e.300 .*of about 400 digits"),
        (
            'alpha = "0.5:1.5:3"',
            f'alpha = "0.5:1.5:{"9" * 400}"',
            2,
            r"count >= 2 and <= 100000; got .*\.\.\.$",
        ),
        ('alpha = "0.5:1.5:3"', 'alpha = "0.5:inf:3"', 2, "alpha must hold numbers > 0 .*, got inf"),
        ("seeds = 2", f"seeds = {'9' * 400}", 3, "seeds must be a number >= 1 .*of about 400 digits"),
        ("seeds = 2", f"seeds = [{'9' * 400}]", 3, "whole numbers <= .*of about 400 digits"),
        ("seeds = 2", "seeds = 2.5", 3, "seeds must hold whole numbers >= 0, got 2.5"),
        ("noise = 0.2", f"noise = {'9' * 400}", 8, "noise must be > 0 and < 1e308 .*of about 400 digits"),
        ("noise = 0.2", "noise = true", 8, "noise must be a number > 0 .*; got True"),
        ("noise = 0.2", "noise = false", 8, "noise must be a number > 0 .*; got False"),
        ("noise = 0.2", "channel = true", 8, "got True"),
        ("noise = 0.2", f"channel = {'9' * 400}", 8, "of about 400 digits"),
        ("noise = 0.2", f"snr = {'9' * 400}", 8, "snr must be > 0 and < 1e308"),
        ("noise = 0.2", "snr = 1e-320", 8, "variance of the noise, .*, must be a finite number > 0"),
        ("gamma = 0.6", "gamma = true", 9, "gamma must be a number > 0 .*; got True"),
        ("gamma = 0.6", f"gamma = {'9' * 400}", 9, "gamma must be > 0 and < 1e308 .*of about 400 digits"),
        (
            "damping = 0.1",
            f"damping = {'9' * 400}",
            17,
            "'damping' of gamp_rie must be a finite number < 1e300",
        ),
        ("damping = 0.1", f"damping = {'[' * 80}{']' * 80}", 17, "'damping' of gamp_rie must be"),
        (
            "damping = 0.1",
            f"damping = {'[' * 5000}{']' * 5000}",
            17,
            "lists or tables within too many others",
        ),
        ("seeds = 2", "seeds = 2\nseeds = 3", 4, "cannot overwrite a value"),
    ],
)
def test_file_errors_name_the_line(tmp_path, old, new, line, message):
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(SweepFileError, match=f"line {line}: .*{message}") as caught:
        read_sweep(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD.encode("utf-16"), "is no text: .*; save it as UTF-8"),
        (GOOD.replace("relu", "é").encode("latin-1"), "is no text: .*; save it as UTF-8"),
        (b"#" * 20_000_001, "has more than 20000000 characters"),
    ],
    ids=["utf-16", "latin-1", "endless"],
)
def test_files_that_are_no_text_are_a_sentence(tmp_path, content, message):
    path = tmp_path / "sweep.toml"
    path.write_bytes(content)
    with pytest.raises(SweepFileError, match=message):
        read_sweep(path)
    with pytest.raises(SweepFileError, match="cannot be read: embedded null byte"):
        read_sweep("a\0b")


def test_marks_and_ends_of_lines_that_editors_write_do_not_matter(tmp_path):
    wanted = read_sweep(written(tmp_path, GOOD))
    for text in ("\ufeff" + GOOD, GOOD.replace("\n", "\r\n")):
        (tmp_path / "sweep.toml").write_bytes(text.encode())
        assert read_sweep(tmp_path / "sweep.toml") == wanted
    assert read_sweep(written(tmp_path, GOOD.replace("seeds = 2", "seeds = 2.0"))) == wanted


def test_sizes_in_a_file_are_the_ratios_they_stand_for(tmp_path):
    ratios = GOOD.replace("d = [10, 12]", "d = 10").replace("gamma = 0.6", "gamma = 0.7\nsnr = [4, 9.5]")
    sizes = ratios.replace('alpha = "0.5:1.5:3"', "n = [50, 100, 150]").replace("gamma = 0.7", "k = 7")
    one, other = (
        read_sweep(written(tmp_path, text.replace("noise = 0.2\n", ""))) for text in (ratios, sizes)
    )
    assert one == other and one.alpha == (0.5, 1.0, 1.5)
    assert {round(problem.snr, 12) for problem in other.problems} == {4.0, 9.5}
    as_range = sizes.replace("[50, 100, 150]", '"50:150:3"').replace("noise = 0.2\n", "")
    assert read_sweep(written(tmp_path, as_range)) == other
    assert [ww.sample_instance(task.problem, task.d, task.alpha).n for task in list(other.tasks())[:6:2]] == [
        50,
        100,
        150,
    ]


@pytest.mark.parametrize(
    ("changes", "line", "message"),
    [
        ({'alpha = "0.5:1.5:3"': "n = 100"}, 2, "n needs one value of d .alpha is n/d².; got 2"),
        ({"seeds = 2": "n = 100"}, 3, "give alpha or n, not both"),
        (
            {"d = [10, 12]": "d = 10", 'alpha = "0.5:1.5:3"': "n = [100, 0]"},
            2,
            "n must hold whole numbers >= 1",
        ),
        ({"d = [10, 12]": "d = 10", 'alpha = "0.5:1.5:3"': 'n = "9"'}, 2, "n takes numbers, or a range"),
        ({"d = [10, 12]": "d = 10", 'alpha = "0.5:1.5:3"': "n = [[1], [2, 3]]"}, 2, "n must hold whole"),
        ({"gamma = 0.6": "k = 6"}, 9, "k needs one value of d .gamma is k/d.; got 2"),
        ({"d = [10, 12]": "d = 10", "gamma = 0.6": "k = -6"}, 9, "k must be > 0"),
        ({"gamma = 0.6": "snr = 0"}, 9, "snr must be > 0"),
    ],
)
def test_bad_sizes_in_a_file_name_their_line(tmp_path, changes, line, message):
    text = GOOD.replace("noise = 0.2\n", "\n")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(SweepFileError, match=f"line {line}: .*{message}"):
        read_sweep(written(tmp_path, text))


@pytest.mark.parametrize(
    ("learner", "settings", "message"),
    [
        ("hmc", {"iterations": "many"}, "'iterations' of hmc must be a whole number, got 'many'"),
        ("hmc", {"iterations": 3.5}, "'iterations' of hmc must be a whole number"),
        ("hmc", {"n_chains": [2]}, "'n_chains' of hmc must be a whole number"),
        ("metropolis", {"temperatures": 3}, "'temperatures' of metropolis must be"),
        ("adam", {"batch_size": "x"}, "'batch_size' of adam must be"),
    ],
)
def test_settings_have_the_types_that_the_learner_states(learner, settings, message):
    with pytest.raises(ValueError, match=message):
        LearnerSpec(learner, settings)


def test_a_billion_tasks_are_made_one_at_a_time(tmp_path, monkeypatch):
    sweep = Sweep(PROBLEMS, [10, 12, 10], [0.5, 1.5, 0.5], 100_000_000, [WALK, "gamp_rie", WALK])
    tasks = sweep.tasks()
    assert len(tasks) == 16 * 10**8
    first, last = tasks[0], tasks[-1]
    assert next(iter(tasks)) == first and first.seed == 0 and last.seed == 10**8 - 1
    assert (last.learner, last.d, last.alpha) == ("gamp_rie", 12, 1.5)
    assert first in tasks and last in tasks and tasks[10**9 + 7] in tasks
    assert Task(PROBLEMS[0], 10, 0.5, 10**8, WALK) not in tasks
    assert Task(PROBLEMS[0], 10, 0.5, 0, WALK, {"steps": 3}) not in tasks
    filled = Store(tmp_path)
    filled.prepare()
    filled.write(run_task(first))
    monkeypatch.setattr("widthwise._workers.LocalProcesses", concurrent.futures.ThreadPoolExecutor)
    said = forecast(tasks, filled, 2)
    assert said.startswith("1600000000 tasks, 1599999999 to run: about ")
    # They run the same way: the driver has looked no further than it had to.
    stop = Stop(3)
    with concurrent.futures.ThreadPoolExecutor(1) as threads, pytest.raises(Stop):
        run_tasks(tasks, filled, executor=threads, progress=stop)
    assert 3 <= len(filled) < 30


class Stop(Exception):
    """Raises itself after some results."""

    def __init__(self, after):
        self.left = after

    def __call__(self, result, report):
        self.left -= 1
        if not self.left:
            raise self


def test_tasks_are_those_of_the_product_in_its_order():
    sweep = Sweep(PROBLEMS, [12, 10], [0.5, 1.5], [4, 1, 4], [WALK, ("gamp_rie", {"damping": 0.1})])
    wanted = [
        Task(problem, d, alpha, seed, name, settings)
        for name, settings in ((WALK, {}), ("gamp_rie", {"damping": 0.1}))
        for problem in PROBLEMS
        for d in (12, 10)
        for alpha in (0.5, 1.5)
        for seed in (4, 1)
    ]
    tasks = sweep.tasks()
    assert list(tasks) == wanted and [tasks[i] for i in range(len(tasks))] == wanted
    assert tasks[3:6] == wanted[3:6] and tasks[-2] == wanted[-2]
    with pytest.raises(IndexError):
        tasks[len(wanted)]


def test_file_without_learner(tmp_path):
    with pytest.raises(SweepFileError, match=r"there is no '\[\[learner\]\]"):
        read_sweep(written(tmp_path, GOOD.split("[[learner]]")[0]))
    with pytest.raises(SweepFileError, match="cannot be read"):
        read_sweep(tmp_path / "absent.toml")


def sweep_of_walks(**change):
    options = {"problems": PROBLEMS[:1], "d": 10, "alpha": [0.5, 1.5], "seeds": 3, "learners": [WALK]}
    return Sweep(**{**options, **change})


def test_only_what_is_missing_is_run(tmp_path):
    log = tmp_path / "log"
    sweep = sweep_of_walks(learners=[(WALK, {"log": str(log), "steps": 1})])
    first = sweep.run(tmp_path / "store", progress=False, n_workers=2)
    assert (first.n_tasks, first.n_done, first.n_kept, first.n_failed) == (6, 6, 0, 0)
    again = sweep.run(tmp_path / "store", progress=False)
    assert (again.n_done, again.n_kept) == (0, 6)
    assert len(log.read_text().splitlines()) == 6
    more = sweep_of_walks(alpha=[0.5, 2.5], learners=[(WALK, {"log": str(log), "steps": 1})])
    third = more.run(tmp_path / "store", progress=False, n_workers=1)
    assert (third.n_done, third.n_kept) == (3, 3)


def test_any_executor_gives_the_same(tmp_path):
    tasks = sweep_of_walks(alpha=[0.5]).tasks()
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        run_tasks(tasks, tmp_path / "threads", executor=threads, progress=False)
    with LocalProcesses(1) as processes:
        run_tasks(tasks, tmp_path / "processes", executor=processes, progress=False)
    stores = [open_store(tmp_path / name) for name in ("threads", "processes")]
    assert [[store.read(task).scalar("excess_error") for task in tasks] for store in stores] == 2 * [
        [run.scalar("excess_error") for run in map(run_task, tasks)]
    ]


def test_workers_are_limited_to_one_thread_and_reused(tmp_path):
    tasks = sweep_of_walks(learners=["trivial_learners:threads"], seeds=6).tasks()
    run_tasks(tasks, tmp_path, n_workers=2, progress=False)
    table = open_store(tmp_path).to_dataframe()
    assert (table["excess_error"] == 1).all() and table["pid"].nunique() <= 2
    assert (table["jax_threads"] <= 1).all()


def test_what_a_learner_prints_is_not_an_answer(tmp_path, capfd):
    report = run_tasks([Task(PROBLEMS[0], 10, 1.0, 0, "trivial_learners:prints")], tmp_path, progress=False)
    assert report.n_done == 1 and "this is not an answer" in capfd.readouterr().err


def test_progress_is_told(tmp_path, capfd):
    seen = []
    tasks = sweep_of_walks(alpha=[0.5], seeds=2).tasks()
    run_tasks(
        tasks, tmp_path / "one", n_workers=1, progress=lambda result, report: seen.append(result.status)
    )
    assert seen == ["done", "done"]
    assert capfd.readouterr().err == ""
    run_tasks(tasks, tmp_path / "two", n_workers=1)
    lines = capfd.readouterr().err.splitlines()
    assert any(line.startswith("2/2 ") and "excess error" in line for line in lines)


def test_estimate_is_measured_and_corrected_by_what_was_run(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    from widthwise.sweeps.estimate import estimate, memory_needed, passes

    small, large = (Task(PROBLEMS[0], d, 2.0, 0, "hmc", {"iterations": 100}) for d in (20, 80))
    assert passes(small) == passes(large) == 100 * 40
    unknown = Task(PROBLEMS[0], 20, 2.0, 0, WALK)
    with ThreadPoolExecutor(1) as threads:
        guess = estimate([small, large, unknown], threads, [])
        assert 0 < guess.seconds[small.key] < guess.seconds[large.key]
        assert guess.seconds[unknown.key] != guess.seconds[unknown.key]
        assert "1 tasks of unknown length" in guess.sentence(2)
        run_tasks([unknown], tmp_path, executor=threads, progress=False)
        (entry,) = open_store(tmp_path).entries().values()
        again = estimate([unknown], threads, [entry])
        # A short task that took long to begin says nothing of long ones; a long one does.
        tiny = Task(PROBLEMS[0], 20, 2.0, 0, "hmc", {"iterations": 2})
        begun, slow = (SimpleNamespace(task=t, status="done", seconds=1e4) for t in (tiny, large))
        assert estimate([large], threads, [begun]).seconds[large.key] < 100
        assert estimate([large], threads, [slow]).seconds[large.key] > 1000
    assert again.seconds[unknown.key] == entry.seconds
    # Two copies of the inputs at least.
    assert memory_needed(large) > 2 * 4 * 80 * 12800


def test_tasks_wait_for_memory(tmp_path, monkeypatch):
    import widthwise.sweeps.driver as module
    from widthwise.sweeps.store import Store

    tasks = sweep_of_walks(alpha=[0.5], seeds=2).tasks()
    store = Store(tmp_path)
    store.prepare()
    for free, is_room in ((5e8, False), (5e9, True)):  # a task needs 8e8
        monkeypatch.setattr(module, "free_memory", lambda free=free: free)
        driver = module._Driver(tasks, store, LocalProcesses(2), False)
        assert driver._has_room_for(tasks[0])  # the first is never kept waiting
        driver.running = {concurrent.futures.Future(): tasks[0]}
        assert driver._has_room_for(tasks[1]) is is_room


def test_no_task_begins_when_the_time_is_up(tmp_path):
    tasks = sweep_of_walks(alpha=[0.5], seeds=3).tasks()

    def run(store, **options):
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            return run_tasks(tasks, store, executor=executor, progress=False, **options)

    late = run(tmp_path, max_seconds=0)
    assert (late.n_done, late.n_left) == (0, len(tasks)) and f"{len(tasks)} left" in str(late)
    whole = run(tmp_path, max_seconds=1e6)
    assert (whole.n_done, whole.n_left) == (len(tasks), 0)
    again = run(tmp_path, max_seconds=0)  # what is finished is counted all the same
    assert (again.n_kept, again.n_left) == (len(tasks), 0)


def test_bar_on_a_terminal(tmp_path, capsys, monkeypatch):
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    tasks = [*sweep_of_walks(alpha=[0.5], seeds=2).tasks()]
    tasks.append(Task(PROBLEMS[0], 10, 1.0, 0, "trivial_learners:raises"))
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        run_tasks(tasks, tmp_path, executor=threads)
    said = capsys.readouterr().err
    assert said.startswith("3 tasks, 3 to run: ")
    assert "failed: trivial_learners:raises" in said and "no such luck" in said and "3/3" in said
