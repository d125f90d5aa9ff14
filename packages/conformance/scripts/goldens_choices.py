"""Goldens of choices: of truth values, of elements by index, of tokens by chance. They have numbers of their own: nothing else moves."""

import numpy as np

from golden_file import i32, over_axes, write
from goldens_shapes import philox

rng = np.random.default_rng(4711)


def f32(*shape, scale=1.0):
    return np.round(rng.normal(size=shape) * scale * 32) / 32


def write_all():
    truth = rng.random((2, 3, 4)) < 0.7
    for op, f in [("any", np.any), ("all", np.all)]:
        write(op, over_axes(f, truth))
    x = f32(3, 4, 2)
    cases = [(f"argsort of axis {axis}", [x, np.argsort(x, axis=axis)], {"axis": axis}, np.sort(x, axis=axis)) for axis in (0, 1, -1)]
    first = np.argmax(x, axis=1)[:, None]
    write("takeAlongAxis", [*cases, ("argmax", [x, first], {"axis": 1}, np.max(x, axis=1, keepdims=True))])
    samples()


def samples():
    """By numpy's searchsorted over the cumulative probabilities of what the filters left, in f64."""
    logits, position = f32(6, 9, scale=2), i32(0, 1, 2, 3, 4, 1000)
    seed = 2**33 + 99
    seeds = np.array([[seed & 0xFFFFFFFF, seed >> 32]] * 6, np.uint32).view(np.int32).astype(np.int64)
    cases = []
    for name, temperature, k, p, least in [("plain", 1, 0, 1, 0), ("temperature", 0.5, 0, 1, 0), ("top-k", 1, 3, 1, 0), ("top-p", 1, 0, 0.8125, 0), ("min-p", 1.5, 0, 1, 0.125), ("all", 0.75, 6, 0.90625, 0.0625)]:
        chosen = [choose(row, random(seed, int(at)), temperature, k, p, least) for row, at in zip(logits, position)]
        options = [np.full(6, each, dtype) for each, dtype in [(temperature, np.float64), (k, np.int64), (p, np.float64), (least, np.float64)]]
        cases.append((name, [logits, position, seeds, *options], {}, np.array(chosen)))
    write("sample", cases)


def choose(row, u, temperature, k, p, least):
    ids = np.argsort(-row, kind="stable")[: k or None]
    chances = np.exp(row[ids]) / np.exp(row[ids]).sum()
    if p < 1:
        ids = ids[: np.searchsorted(np.cumsum(chances), p) + 1]
    ids = np.sort(ids[np.exp(row[ids] - row[ids].max()) >= least])
    weights = np.exp(row[ids] / temperature)
    return ids[np.searchsorted(np.cumsum(weights / weights.sum()), u, side="right")]


def random(seed, position):
    return philox(position, 0, seed)[0] / 2**32
