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
    """By numpy's searchsorted over the cumulative probabilities of what the filters left."""
    logits, position = f32(6, 9, scale=2), i32(0, 1, 2, 3, 4, 1000)
    cases = []
    for name, temperature, k, p, least in [("plain", 1, 0, 1, 0), ("temperature", 0.5, 0, 1, 0), ("top-k", 1, 3, 1, 0), ("top-p", 1, 0, 0.8, 0), ("min-p", 1.5, 0, 1, 0.1), ("all", 0.75, 6, 0.9, 0.05)]:
        seed = 2**33 + 99
        chosen = [choose(row, uniform(seed, int(at)), temperature, k, p, least) for row, at in zip(logits, position)]
        cases.append((name, [logits, position], {"seed": seed, "temperature": temperature, "topK": k, "topP": p, "minP": least}, np.array(chosen)))
    write("sample", cases)


def choose(row, u, temperature, k, p, least):
    ids = np.argsort(-row, kind="stable") if k or p < 1 else np.arange(len(row))
    ids = ids[: k or None]
    chances = np.exp(row[ids]) / np.exp(row[ids]).sum()
    if p < 1:
        ids = ids[: np.searchsorted(np.cumsum(chances), p) + 1]
    ids = ids[np.exp(row[ids] - row[ids].max()) >= least]
    weights = np.exp(row[ids] / temperature)
    return ids[np.searchsorted(np.cumsum(weights / weights.sum()), u, side="right")]


def uniform(seed, position):
    a, b, _, _ = philox(position, 0, seed)
    return ((a >> 5) * 2**26 + (b >> 6)) / 2**53
