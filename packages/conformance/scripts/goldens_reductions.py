"""Goldens of reductions, running sums and norms."""

import numpy as np

from golden_file import f32, write


def write_all():
    x = f32(2, 3, 4, scale=2)
    x[x == 0] = 0.5
    nan = np.nan

    def kinds(f):
        return [
            ("all axes", [x], {}, f(x, axis=None)),
            ("axis 1", [x], {"axis": 1}, f(x, axis=1)),
            ("axis -1 kept", [x], {"axis": -1, "keepDims": True}, f(x, axis=-1, keepdims=True)),
            ("axis 0", [x], {"axis": 0}, f(x, axis=0)),
        ]

    write("sumKahan", [*kinds(np.sum), ("2^25 + 1 - 2^25", [np.array([2.0**25, 1, -(2.0**25)])], {}, 1)])
    write("prod", kinds(np.prod))
    write("normL1", kinds(lambda a, **k: np.sum(np.abs(a), **k)))
    write("normL2", kinds(lambda a, **k: np.sqrt(np.sum(a**2, **k))))
    write("normLinf", kinds(lambda a, **k: np.max(np.abs(a), **k)))
    large = 4096 + np.arange(16) / 64
    sample = [("sample", [x], {"axis": 1, "correction": 1}, np.var(x, axis=1, ddof=1)), ("large mean", [large], {}, np.var(large))]
    write("variance", kinds(np.var) + sample)
    ties = np.array([[3, 1, 1, 2], [-5, 1, -5, -5], [2, 2, 4, 2.0]])
    nans = np.array([[1, nan, 3], [np.inf, 2, nan], [np.inf, np.inf, np.inf]])
    write(
        "argmin",
        [
            ("first of equals", [ties], {}, np.argmin(ties, axis=-1)),
            ("axis 0", [ties], {"axis": 0}, np.argmin(ties, axis=0)),
            ("NaN is the smallest", [nans], {}, np.argmin(nans, axis=-1)),
        ],
    )
    for op, f in [("cumsum", np.cumsum), ("cumprod", np.cumprod)]:
        write(op, [("last axis", [x], {}, f(x, axis=-1)), ("axis 0", [x], {"axis": 0}, f(x, axis=0)), ("axis -2", [x], {"axis": -2}, f(x, axis=-2))])
    norms()


def norms():
    x, w, bias = f32(2, 3, 6, scale=2), f32(6), f32(6)

    def standard(a, axes, eps):
        return (a - a.mean(axis=axes, keepdims=True)) / np.sqrt(a.var(axis=axes, keepdims=True) + eps)

    y = standard(x, -1, 1e-5) * w
    write("layerNorm", [("without bias", [x, w], {"eps": 1e-5}, y), ("with bias", [x, w], {"eps": 1e-5}, y + bias, {"bias": bias})])
    image, w, bias = f32(2, 4, 3, 2, scale=2), f32(4), f32(4)
    per_channel = (1, 4, 1, 1)
    y = standard(image.reshape(2, 2, 2, 3, 2), (2, 3, 4), 1e-5).reshape(image.shape) * w.reshape(per_channel)
    params = {"groups": 2, "eps": 1e-5}
    write("groupNorm", [("without bias", [image, w], params, y), ("with bias", [image, w], params, y + bias.reshape(per_channel), {"bias": bias})])
    mean, variance = f32(4), np.abs(f32(4)) + 0.25
    y = (image - mean.reshape(per_channel)) / np.sqrt(variance + 1e-3).reshape(per_channel) * w.reshape(per_channel) + bias.reshape(per_channel)
    write("batchNorm", [("stored statistics", [image, mean, variance, w, bias], {"eps": 1e-3}, y)])
