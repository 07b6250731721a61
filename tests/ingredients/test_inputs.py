"""Laws of the inputs: the channel averaged over a spectrum, descriptions, data, and what is refused."""

import json
import warnings

import mpmath
import numpy as np
import pytest

import widthwise as ww
from widthwise.ingredients import weights
from widthwise.ingredients.input_data import blocks
from widthwise.ingredients.inputs import FewRowsWarning, GaussianOnSpectrum, centred, resolve

GENERIC = ww.inputs.Gaussian((4.2, 1.1, 0.3, 0.02), (0.1, 0.3, 0.4, 0.2), normalise=True)
SNR = np.geomspace(1e-9, 1e12, 43)


def test_the_channel_is_the_average_over_the_spectrum():
    """ψ, q, 1 - q, F' and ψ - xq/2 in 60 digits, to rounding at any snr."""
    found = GaussianOnSpectrum(GENERIC).channel(SNR)
    with mpmath.workdps(60):
        e = [mpmath.mpf(v) for v in GENERIC.eigenvalues]
        p = [mpmath.mpf(v) for v in GENERIC.probabilities]
        for i, x in enumerate(map(mpmath.mpf, SNR.tolist())):
            psi = sum(b * (x * a - mpmath.log1p(x * a)) / 2 for a, b in zip(e, p, strict=True))
            overlap = sum(b * x * a**2 / (1 + x * a) for a, b in zip(e, p, strict=True))
            mmse = sum(b * a / (1 + x * a) for a, b in zip(e, p, strict=True))
            slope = sum(b * a**2 / (1 + x * a) ** 2 for a, b in zip(e, p, strict=True))
            for name, value in (
                ("free_entropy", psi),
                ("overlap", overlap),
                ("mmse", mmse),
                ("overlap_slope", slope),
                ("entropy_deficit", psi - x * overlap / 2),
            ):
                assert getattr(found, name)[i] == pytest.approx(float(value), rel=1e-13), (name, x)


def test_overlap_is_twice_the_slope_of_the_free_entropy():
    law = GaussianOnSpectrum(GENERIC)
    x, step = np.geomspace(1e-3, 1e3, 13), 1e-4
    difference = (law.free_entropy(x * (1 + step)) - law.free_entropy(x * (1 - step))) / (2 * step * x)
    assert law.overlap(x) == pytest.approx(2 * difference, rel=1e-7)
    difference = (law.overlap(x * (1 + step)) - law.overlap(x * (1 - step))) / (2 * step * x)
    assert law.overlap_slope(x) == pytest.approx(difference, rel=1e-7)


def test_the_overlap_is_that_of_a_ridge_regression():
    """w seen as y = √x C^½w + z in d dimensions with C far from diagonal: wᵀC⟨w⟩/d over many draws."""
    rng = np.random.default_rng(3)
    d, x = 60, 2.3
    law = GENERIC
    axes, _ = np.linalg.qr(rng.standard_normal((d, d)))
    root = axes * np.sqrt(law.layout(d)) @ axes.T
    w, z = rng.standard_normal((2, d, 4000))
    guess = np.sqrt(x) * np.linalg.solve(np.eye(d) + x * root @ root, root @ (np.sqrt(x) * root @ w + z))
    overlaps = np.sum((root @ w) * (root @ guess), axis=0) / d
    error = overlaps.std(ddof=1) / np.sqrt(overlaps.size)
    laid_out = ww.inputs.Gaussian(law.layout(d))
    assert abs(overlaps.mean() - GaussianOnSpectrum(laid_out).overlap(x)) < 4 * error
    assert error < 0.01


def test_a_flat_spectrum_is_the_isotropic_law():
    assert (
        resolve([1.0, 1.0, 1.0]) == resolve("isotropic") == resolve("power-law:0,7") == ww.inputs.Isotropic()
    )
    nearly = GaussianOnSpectrum(ww.inputs.Gaussian((1 + 1e-9, 1 - 1e-9)))
    for one, other in zip(nearly.channel(SNR), weights.Gaussian().channel(SNR), strict=True):
        assert one == pytest.approx(other, rel=1e-13)


@pytest.mark.parametrize(
    "given",
    [
        "power-law:1.3,20",
        "spiked(4, 0.1)",
        "3,0.5@0.2,0.8",
        "1.5,0.5",
        [1.7, 0.3],
        {"eigenvalues": [1.5, 0.5]},
    ],
)
def test_descriptions_are_read_back(given):
    law = resolve(given)
    e, p = np.array(law.eigenvalues), np.array(law.probabilities)
    assert p @ e == pytest.approx(1, abs=1e-14) and p.sum() == pytest.approx(1, abs=1e-14)
    assert np.all(np.diff(e) < 0)
    assert resolve(json.loads(json.dumps(law.spec))) == law
    assert hash(resolve(law.spec)) == hash(law)
    assert eval(repr(law), {"inputs": ww.inputs}) == law


@pytest.mark.parametrize("count", [3, 36, 144, 1000])
def test_laws_of_many_eigenvalues_are_read_back_to_the_last_digit(count):
    """A description that changes when it is read would be another task of a sweep."""
    rng = np.random.default_rng(count)
    for _ in range(20):
        law = ww.inputs.Gaussian(rng.exponential(size=count), rng.random(count), normalise=True)
        assert resolve(json.loads(json.dumps(law.spec))) == law
        assert ww.inputs.Gaussian(law.eigenvalues, law.probabilities) == law


def test_written_laws():
    law = ww.inputs.PowerLaw(1.3, 20)
    assert law.eigenvalues[0] / law.eigenvalues[7] == pytest.approx(8**1.3)
    law = ww.inputs.Spiked(4, 0.1)
    assert law.eigenvalues == pytest.approx((4, 0.6 / 0.9)) and law.probabilities == pytest.approx((0.1, 0.9))
    assert law.mean_square == pytest.approx(0.1 * 16 + 0.9 * (2 / 3) ** 2)


def test_layout():
    law = ww.inputs.PowerLaw(0.7, 30)
    assert law.layout(30) == pytest.approx(law.eigenvalues)
    assert law.layout(1000).mean() == pytest.approx(1)
    assert ww.inputs.Spiked(4, 0.1).layout(50)[:6] == pytest.approx([4] * 5 + [2 / 3])


def test_from_data():
    rng = np.random.default_rng(5)
    e = np.array([3.0, 2.0, 0.5, 0.0])
    axes, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    rows = 7 + (rng.standard_normal((200_000, 4)) * np.sqrt(e)) @ axes.T
    law = ww.inputs.from_data(rows)
    assert law.eigenvalues == pytest.approx(e / e.mean(), rel=0.02)
    assert law.eigenvalues[-1] == 0
    x = centred(rows)
    assert x.mean(axis=0) == pytest.approx(0, abs=1e-12) and np.mean(x**2) == pytest.approx(1)
    assert ww.inputs.Data(rows).eigenvalues == law.eigenvalues
    with pytest.warns(FewRowsWarning, match="4 inputs measured from 30 rows"):
        ww.inputs.from_data(rows[:30])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ww.inputs.from_data(rows[:40])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([1.5, -0.5, 2.0], "inputs: eigenvalues of a covariance must be >= 0; got -0.5; set to 0 what is"),
        ([0.0, 0.0], "inputs: the trace of the covariance must be > 0: all eigenvalues are 0"),
        ([1.0, 2.0], "must have mean 1; got 1.5; divide the eigenvalues by 1.5, or give normalise=True"),
        ([1.0, float("nan")], "must be finite numbers"),
        ("power-law:-1,20", "the exponent of a power law must be >= 0; got -1"),
        ("power-law:1.2,20.5", "must be a whole number from 1 to 4096; got 20.5"),
        ("power-law:1.2", "lacks count; write power-law:EXPONENT,COUNT"),
        (
            "spiked:20,0.1",
            "must lie between 0 and 1/share, 10 here, so that the mean of all can be 1; got 20",
        ),
        ("spiked:2,1.5", "the share of spiked directions must lie in (0, 1); got 1.5"),
        ("spike:2,0.5", "did you mean 'spiked'?"),
        (np.eye(3), "use inputs.from_data(table)"),
    ],
)
def test_what_is_refused(given, sentence):
    with pytest.raises(ValueError, match=".") as caught:
        resolve(given)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.ones((5, 3)), "all rows are equal, and the trace is 0"),
        (
            [[1.0, 2.0], [float("nan"), 1.0], [2.0, 3.0]],
            "must be finite: row 1 is not, one of 1; leave these",
        ),
        (np.ones(5), "one row a sample, one column an input), not an array of shape (5,)"),
        (np.ones((1, 5)), "two rows or more"),
        ([["a", "b"], ["c", "d"]], "must be a table of numbers"),
    ],
)
def test_what_is_refused_of_data(rows, sentence):
    with pytest.raises(ValueError, match=".") as caught:
        ww.inputs.from_data(rows)
    assert sentence in str(caught.value)


def test_normalise_divides_by_the_mean():
    assert resolve([1.0, 3.0], normalise=True) == resolve([0.5, 1.5])
    assert resolve("1,3@0.5,0.5", normalise=True) == resolve([0.5, 1.5])


def test_digits_and_photographs_come_with_scikit_learn():
    digits = resolve("digits")
    assert digits.rows.shape == (1797, 64) and digits.is_data and "covariance of digits" in digits.assumption
    patches = resolve("photographs:4")
    n, d = patches.rows.shape
    assert d == 16 and n > 1e5
    for law in (digits, patches):
        e, p = np.array(law.eigenvalues), np.array(law.probabilities)
        c = law.rows.T @ law.rows / len(law.rows)
        assert p @ e == pytest.approx(1) and p @ e**2 == pytest.approx(np.sum(c**2) / len(c))
        assert law.root(len(c)) @ law.root(len(c)).T == pytest.approx(c, abs=1e-10)
        assert resolve(law.spec) == law and hash(resolve(law.spec)) == hash(law)
        assert eval(repr(law), {"inputs": ww.inputs}) == law
    # Neighbouring pixels go together: the largest eigenvalues are smooth, and the mean of a patch is 0.
    assert patches.eigenvalues[0] > 3 and patches.eigenvalues[-1] < 1e-12


def test_blocks_of_an_image():
    """28 × 28 averaged over 4, 2, … 2, 4 rows and columns: means stay, and a corner is a block of 16."""
    images = np.random.default_rng(0).random((3, 28, 28))
    small = blocks(images).reshape(3, 12, 12)
    assert small[:, 0, 0] == pytest.approx(images[:, :4, :4].mean(axis=(1, 2)))
    assert small[:, 1, -1] == pytest.approx(images[:, 4:6, 24:].mean(axis=(1, 2)))
    assert small[:, 5, 6] == pytest.approx(images[:, 12:14, 14:16].mean(axis=(1, 2)))


def test_files(tmp_path):
    rows = np.random.default_rng(0).standard_normal((50, 3))
    np.save(tmp_path / "table.npy", rows)
    np.savetxt(tmp_path / "table.csv", rows, delimiter=",")
    law = resolve(f"file:{tmp_path / 'table.npy'}")
    assert law.rows == pytest.approx(centred(rows)) and resolve(law.spec) == law
    assert resolve(f"file:{tmp_path / 'table.csv'}").rows == pytest.approx(centred(rows))
    np.save(tmp_path / "table.npy", 2 * rows + rows**2)
    for given, sentence in (
        (law.spec, "is not the one that was described: it has changed; leave out the digest"),
        (f"file:{tmp_path / 'none.npy'}", "cannot be read: No such file"),
        ("file:" + str(tmp_path / "other.txt"), "cannot be read"),
    ):
        with pytest.raises(ValueError, match=sentence):
            resolve(given)
    (tmp_path / "words.csv").write_text("a,b\nc,d\n")
    with pytest.raises(ValueError, match="is no table of numbers"):
        resolve(f"file:{tmp_path / 'words.csv'}").rows
    (tmp_path / "words.txt").write_text("1,2\n")
    with pytest.raises(ValueError, match="must end in .npy or .csv"):
        resolve(f"file:{tmp_path / 'words.txt'}")
