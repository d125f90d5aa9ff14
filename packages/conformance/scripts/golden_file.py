"""Writes golden files: cases with the results that numpy computed."""

import json
import pathlib

import numpy as np

OUT = pathlib.Path(__file__).parent.parent / "src/goldens"
rng = np.random.default_rng(20240229)


def f32(*shape, scale=1.0):
    """Values that f32 and short decimals both hold exactly."""
    return np.round(rng.normal(size=shape) * scale * 32) / 32


def i32(*values, shape=None):
    a = np.array(values, dtype=np.int64)
    return a.reshape(shape) if shape is not None else a


def over_axes(f, x):
    """Cases of a numpy reduction of a tensor of rank 2 or more."""
    return [
        ("all axes", [x], {}, f(x)),
        ("axis 1", [x], {"axis": 1}, f(x, axis=1)),
        ("axis -1 kept", [x], {"axis": -1, "keepDims": True}, f(x, axis=-1, keepdims=True)),
        ("axis 0", [x], {"axis": 0}, f(x, axis=0)),
    ]


def number(x):
    x = float(x)
    if np.isnan(x):
        return "Number.NaN"
    if np.isinf(x):
        return "Number.POSITIVE_INFINITY" if x > 0 else "Number.NEGATIVE_INFINITY"
    if x == int(x) and abs(x) < 2**53:
        return str(int(x))
    return repr(float(f"{x:.12g}"))


# numpy's default types stand for ours; the narrow ones for themselves.
DTYPES = {"float64": "f32", "float16": "f16", "int64": "i32", "int32": "i32", "uint32": "u32", "int8": "i8", "uint8": "u8", "bool": "bool"}


def numbers(a):
    return "[" + ", ".join(number(x) for x in np.asarray(a).ravel()) + "]"


def tensor(a, extra=""):
    a = np.asarray(a)
    dtype = DTYPES[a.dtype.name]
    return f'{{ dtype: "{dtype}", shape: {json.dumps(list(a.shape))}, values: {numbers(a)}{extra} }}'


def write(op, cases):
    lines = [
        "// Written by scripts/goldens.py: the figures are numpy's, in f64.",
        'import type { OpCases } from "../opCases.ts";',
        "",
        f"export const {op}Goldens: OpCases<\"{op}\">[\"cases\"] = [",
    ]
    for name, inputs, params, golden, *optional in cases:
        parts = [f'name: "golden: {name}"', "inputs: [" + ", ".join(tensor(a) for a in inputs) + "]"]
        if optional:
            parts.append("optional: {" + ", ".join(f"{k}: {tensor(v)}" for k, v in optional[0].items()) + "}")
        if params:
            parts.append("params: " + json.dumps(params))
        parts.append(f"golden: {numbers(golden)}")
        lines.append("{" + ", ".join(parts) + "},")
    lines.append("];")
    (OUT / f"{op}.ts").write_text("\n".join(lines) + "\n")
