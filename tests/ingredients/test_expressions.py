"""Formulas: grammar, refusals, derivatives and kinks."""

import math

import numpy as np
import pytest

from widthwise.ingredients.expressions import MAX_DEPTH, MAX_LENGTH, parse

X = np.array([-2.3, -0.7, 0.45, 1.9])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1+2*3", 7.0),
        ("(1+2)*3", 9.0),
        ("2**3**2", 512.0),
        ("2^3^2", 512.0),
        ("-3**2", -9.0),
        ("2**-2", 0.25),
        ("8/4/2", 1.0),
        ("7-4-2", 1.0),
        ("--3", 3.0),
        ("+3-+2", 1.0),
        ("2*-3", -6.0),
        ("1.5e-1 + .5", 0.65),
        ("e", math.e),
        ("2*pi", 2 * math.pi),
        ("max(1,4,2)", 4.0),
        ("clip(7,-1,2)", 2.0),
        ("he4(2)", 16 - 24 + 3.0),
    ],
)
def test_precedence_and_associativity(text, expected):
    np.testing.assert_allclose(parse(text)(X), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("tanh(2*x)", lambda x: np.tanh(2 * x)),
        ("max(x,0)+0.1*x**3", lambda x: np.maximum(x, 0) + 0.1 * x**3),
        ("-x^2", lambda x: -(x**2)),
        ("2**-x", lambda x: 2.0**-x),
        ("(1+x*x)**x", lambda x: (1 + x * x) ** x),
        ("he2(x)/sqrt(2)+he3(x)/6", lambda x: (x**2 - 1) / np.sqrt(2) + (x**3 - 3 * x) / 6),
        ("leaky(x)", lambda x: np.where(x > 0, x, 0.01 * x)),
        ("leaky(x, 0.2)", lambda x: np.where(x > 0, x, 0.2 * x)),
        ("step(x-0.1)", lambda x: 1.0 * (x > 0.1)),
        ("softplus(x)", lambda x: np.log1p(np.exp(x))),
        ("sigmoid(x)", lambda x: 1 / (1 + np.exp(-x))),
        ("elu(x)", lambda x: np.where(x > 0, x, np.exp(x) - 1)),
    ],
)
def test_values(text, function):
    np.testing.assert_allclose(parse(text)(X), function(X), rtol=3e-15, atol=3e-16)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "exp(x/2)",
            "log(3+x)",
            "sqrt(x*x+1)",
            "abs(x)",
            "sign(x)",
            "heaviside(x)",
            "max(x,x*x)",
            "min(x,0.3)",
        ),
        *(
            "relu(x)",
            "leaky(x,0.1)",
            "elu(x)",
            "softplus(2*x)",
            "gelu(x)",
            "tanh(2*x)",
            "erf(x)",
            "sigmoid(x)",
        ),
        *("sin(x)", "cos(3*x)", "sinh(x)", "cosh(x)", "atan(x)", "hardtanh(x)", "he5(x)", "clip(2*x,-1,0.5)"),
        *(
            "x/(2+x*x)",
            "(2+sin(x))**x",
            "2**x",
            "x**-2",
            "(x*x+1)**0.7",
            "-x**3",
            "he1(x)*he0(x)",
            "tanh(x)^2*relu(x-0.2)",
        ),
    ],
)
def test_derivative_against_differences(text):
    expression = parse(text)
    h = 1e-3  # sixth-order stencil: truncation 1e-17, rounding 1e-12
    pairs = [(45 / 60, 1), (-9 / 60, 2), (1 / 60, 3)]
    difference = sum(c * (expression(X + k * h) - expression(X - k * h)) for c, k in pairs) / h
    np.testing.assert_allclose(expression.derivative()(X), difference, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("tanh(2*x", 9, r"expected '\)'"),
        ("x+", 3, "expected a number"),
        ("", 1, "expected a number"),
        ("2x", 2, "write 2.x"),
        ("x)", 2, "expected an operator"),
        ("x + foo(x)", 5, "unknown name 'foo'"),
        ("tnah(x)", 1, "did you mean 'tanh'"),
        ("1+y", 3, "unknown name 'y'"),
        ("1+tanh", 3, r"write tanh\(x\)"),
        ("max(x)", 1, "takes 2 to 8"),
        ("tanh(x,1)", 1, "takes 1 argument"),
        ("__import__('os')", 1, "unknown name '__import__'"),
        ("x.real", 2, "expected an operator"),
        ("x[0]", 2, "expected an operator"),
        ("lambda: x", 1, "unknown name 'lambda'"),
        ("'a'", 1, "expected a number"),
        ("x @ x", 3, "expected an operator"),
        ("he51(x)", 1, "unknown name"),
    ],
)
def test_errors_say_where(text, position, reason):
    with pytest.raises(ValueError, match=rf"at position {position}: .*{reason}"):
        parse(text)


def test_limits():
    parse("x" + "+x" * ((MAX_LENGTH - 1) // 2))
    with pytest.raises(ValueError, match="at most 200 characters, got 201"):
        parse("x" + "+x" * (MAX_LENGTH // 2))
    parse("(" * (MAX_DEPTH - 1) + "x" + ")" * (MAX_DEPTH - 1))
    for deep in ("(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH, "-" * MAX_DEPTH + "x", "x" + "**x" * MAX_DEPTH):
        with pytest.raises(ValueError, match="30 levels"):
            parse(deep)


@pytest.mark.parametrize("name", ["gelu", "leaky", "elu", "tanh"])
def test_nests_cost_no_more_than_their_length(name):
    """Arguments that occur twice in a definition are held once; written out these would have 2^25 parts."""
    depth = 25
    nested, single = parse(f"{name}(" * depth + "x" + ")" * depth), parse(f"{name}(x)")
    value, slope = X, np.ones_like(X)
    for _ in range(depth):
        value, slope = single(value), slope * single.derivative()(value)
    np.testing.assert_allclose(nested(X), value, rtol=1e-13)
    np.testing.assert_allclose(nested.derivative()(X), slope, rtol=1e-12)
    assert len(list(nested.tree.walk())) < 8 * depth
    assert len(list(nested.derivative().tree.walk())) < 20 * depth
    # Read and differentiated twice they are the same, which is found without comparing them part by part.
    assert parse(nested.text).tree is nested.tree


def test_a_nest_too_deep_is_refused_at_once():
    with pytest.raises(ValueError, match="at most 200 characters, got 1201"):
        parse("gelu(" * 200 + "x" + ")" * 200)


@pytest.mark.parametrize(
    ("text", "kinks"),
    [
        ("max(x-0.3,0)+abs(x+1)", (-1.0, 0.3)),
        ("abs(x)", (0.0,)),
        ("abs(x*x-2)", (-math.sqrt(2), math.sqrt(2))),
        ("abs(relu(x-0.7))", (0.7,)),  # the argument of abs is 0 on a half line: only its end counts
        ("hardtanh(2*x+1)", (-1.0, 0.0)),
        ("clip(x,-0.2,1.7)", (-0.2, 1.7)),
        ("max(x,x**3)", (-1.0, 0.0, 1.0)),
        ("tanh(2*x)", ()),
        ("relu(1+x*x)", ()),
        ("sign(x-35.5)", (35.5,)),
    ],
)
def test_kinks(text, kinks):
    assert parse(text).kinks() == pytest.approx(kinks, abs=1e-13)


def test_poles():
    assert parse("1/(x-0.123)").poles(13.0) == pytest.approx((0.123,), abs=1e-13)
    assert parse("1/(x-0.123)**2").poles(13.0) == pytest.approx((0.123,), abs=1e-7)
    assert parse("x**-1").poles(13.0) == (0.0,)
    assert parse("1/(1+x**2)").poles(13.0) == ()


def test_scalar_and_shape():
    expression = parse("3")
    assert expression(np.zeros((2, 3))).shape == (2, 3)
    assert expression.derivative()(np.zeros(4)).tolist() == [0.0] * 4
    assert parse("x +  1") == parse("x+1")
