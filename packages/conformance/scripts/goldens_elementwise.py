"""Goldens of elementwise functions, comparisons and logic."""

import math

import numpy as np

from golden_file import f32, i32, write

erf = np.vectorize(math.erf)

# Any real number, positive ones, from -1 to 1, from 1. None of which a function makes a well-known constant.
WIDE = np.array([-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5]).reshape(3, 4)
POSITIVE = np.array([0.0625, 0.375, 0.75, 1, 1.25, 1.75, 3, 11, 100, 12345.5, 0.001953125, 2.71875]).reshape(4, 3)
UNIT = np.array([-0.984375, -0.96875, -0.5625, -0.03125, 0.25, 0.625, 0.875])
ABOVE_1 = np.array([1, 1.03125, 1.5, 2.25, 10, 1000.5])

UNARY = {
    "neg": (WIDE, np.negative),
    "abs": (WIDE, np.abs),
    "sign": (WIDE, np.sign),
    "selu": (WIDE, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    "geluErf": (WIDE, lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "hardswish": (WIDE, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "mish": (WIDE, lambda x: x * np.tanh(np.logaddexp(0, x))),
    "softplus": (WIDE, lambda x: np.logaddexp(0, x)),
    "exp": (WIDE, np.exp),
    "log": (POSITIVE, np.log),
    "log2": (POSITIVE, np.log2),
    "log10": (POSITIVE, np.log10),
    "sqrt": (POSITIVE, np.sqrt),
    "rsqrt": (POSITIVE, lambda x: x**-0.5),
    "reciprocal": (POSITIVE, np.reciprocal),
    "sin": (WIDE, np.sin),
    "cos": (WIDE, np.cos),
    "tan": (WIDE, np.tan),
    "asin": (UNIT, np.arcsin),
    "acos": (UNIT, np.arccos),
    "atan": (WIDE, np.arctan),
    "sinh": (WIDE, np.sinh),
    "cosh": (WIDE, np.cosh),
    "asinh": (WIDE, np.arcsinh),
    "acosh": (ABOVE_1, np.arccosh),
    "atanh": (UNIT, np.arctanh),
    "floor": (WIDE, np.floor),
    "ceil": (WIDE, np.ceil),
    "round": (WIDE, np.round),
    "trunc": (WIDE, np.trunc),
    "fract": (WIDE, lambda x: x - np.floor(x)),
}

COMPARISONS = {
    "equal": np.equal,
    "notEqual": np.not_equal,
    "less": np.less,
    "lessEqual": np.less_equal,
    "greater": np.greater,
    "greaterEqual": np.greater_equal,
}


def write_all():
    for op, (x, f) in UNARY.items():
        write(op, [(op, [x], {}, f(x))])
    pairs = [("same shape", f32(2, 3), f32(2, 3)), ("row over columns", f32(2, 1, 3), f32(4, 1)), ("scalar", f32(5), np.array(-0.5))]
    integers = (i32(2147483647, -2147483648, 5, -7), i32(1, -1, 5, 987654321))
    nan, inf = np.nan, np.inf
    special = (np.array([nan, 1, nan, inf, -inf, inf, 0]), np.array([1, nan, nan, inf, inf, -inf, 0]))
    for op, f in [("minimum", np.minimum), ("maximum", np.maximum)]:
        extra = [("i32", list(integers), {}, f(*integers)), ("NaN and infinities", list(special), {}, f(*special))]
        write(op, [(name, [a, b], {}, f(a, b)) for name, a, b in pairs] + extra)
    write("copysign", [(name, [a, b], {}, np.copysign(a, b)) for name, a, b in [*pairs, ("NaN and infinities", *special)]])
    base = np.array([1, -1, 0, 3, -2, -2, inf, -inf, nan, 1, 0, -1])
    exponent = np.array([nan, inf, -1, 0.5, 0.5, -3, -1, 3, 0, -inf, 0, -inf])
    with np.errstate(all="ignore"):
        edges = np.power(base, exponent)
        row = np.array([-1.5, 0.5, 2])
        cases = [("row of exponents", [POSITIVE, row], {}, np.power(POSITIVE, row)), ("edges", [base, exponent], {}, edges)]
        write("power", cases)
        write("pow", [(f"exponent {e}", [x], {"exponent": e}, np.power(x, e)) for e, x in [(2, WIDE), (3, WIDE), (-1, WIDE[:2]), (0.5, POSITIVE), (-1.25, POSITIVE)]])
    a, b, c = f32(2, 3), f32(3), f32(2, 1)
    write("fma", [("broadcast", [a, b, c], {}, a * b + c)])
    write("lerp", [("broadcast", [a, b, c], {}, a + c * (b - a))])
    for op, f in COMPARISONS.items():
        equals = [("i32", list(integers), {}, f(*integers)), ("NaN and infinities", list(special), {}, f(*special))]
        write(op, [(name, [p, q], {}, f(p, q)) for name, p, q in pairs] + equals)
    p, q = np.array([[True, True, False, False]]), np.array([True, False, True, False])
    for op, f in [("logicalAnd", np.logical_and), ("logicalOr", np.logical_or), ("logicalXor", np.logical_xor)]:
        write(op, [("truth table", [p, q], {}, f(p, q)), ("outer", [q.reshape(4, 1), q], {}, f(q.reshape(4, 1), q))])
    write("logicalNot", [("not", [p], {}, np.logical_not(p))])
    x, y = f32(2, 4), f32(2, 1)
    write("where", [("broadcast", [p, x, y], {}, np.where(p, x, y)), ("i32", [q, integers[0], integers[1]], {}, np.where(q, *integers))])
