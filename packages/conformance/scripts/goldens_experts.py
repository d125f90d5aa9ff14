"""Goldens of mixtures of experts and of recurrent layers. They have numbers of their own: nothing else moves."""

import numpy as np

from golden_file import i32, write

rng = np.random.default_rng(1729)


def f32(*shape, scale=1.0):
    return np.round(rng.normal(size=shape) * scale * 32) / 32


def write_all():
    routes()
    products()
    convolutions()
    scans()
    deltas()


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


GATES = {"softmax": softmax, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "softmaxOfChosen": lambda x: x}


def routes():
    """Scores in numpy: masks for the groups, argsort for the choice."""
    logits, bias = f32(5, 8, scale=2), f32(8)
    chosen, weights = [], []
    for name, gating, k, groups, opened, biased in [
        ("softmax", "softmax", 2, 1, 1, False),
        ("sigmoid with bias", "sigmoid", 3, 1, 1, True),
        ("softmax of the chosen", "softmaxOfChosen", 4, 1, 1, False),
        ("two of four groups, bias", "sigmoid", 3, 4, 2, True),
    ]:
        gates = GATES[gating](logits)
        scores = gates + (bias if biased else 0)
        grouped = scores.reshape(5, groups, -1)
        strength = np.sort(grouped, axis=-1)[..., -2:].sum(axis=-1)
        closed = np.argsort(-strength, axis=-1)[:, opened:]
        for t in range(5):
            grouped[t, closed[t]] = -np.inf
        ids = np.argsort(-grouped.reshape(5, -1), axis=-1)[:, :k]
        params = {"k": k, "gating": gating, "groups": groups, "topKGroups": opened}
        chosen.append((name, [logits], params, ids, {"bias": bias} if biased else {}))
        picked = np.take_along_axis(gates, ids, axis=-1)
        if gating == "softmaxOfChosen":
            picked = softmax(picked)
        for normalize, scale in [(False, 1), (True, 2.5)]:
            y = scale * (picked / picked.sum(axis=-1, keepdims=True) if normalize else picked)
            weights.append((f"{name}, normalised: {normalize}", [logits, ids], {"gating": gating, "normalize": normalize, "scale": scale}, y))
    write("moeRoute", chosen)
    write("moeWeights", weights)


def products():
    experts, ids = f32(4, 3, 5), i32(2, 0, 3, 3, 1, 2, shape=(3, 2))
    one, each = f32(3, 5), f32(3, 2, 5)
    write(
        "moeMatmul",
        [
            ("one vector a token", [one, experts, ids], {}, np.einsum("tk,tink->tin", one, experts[ids])),
            ("one vector an expert", [each, experts, ids], {}, np.einsum("tik,tink->tin", each, experts[ids])),
        ],
    )


def convolutions():
    """Two sequences: one goes on from its state, one starts. Each is put after its past and convolved as a whole."""
    taps, channels = 4, 3
    x, weights, state = f32(7, channels), f32(channels, taps), f32(3, taps - 1, channels)
    positions, rows = i32(9, 10, 0, 1, 2, 3, 4), i32(2, 2, 0, 0, 0, 0, 0)
    y, after = np.zeros((7, channels)), state.copy()
    for row, tokens, past in [(2, slice(0, 2), state[2]), (0, slice(2, 7), np.zeros((taps - 1, channels)))]:
        whole = np.concatenate([past, x[tokens]])
        for c in range(channels):
            y[tokens, c] = np.convolve(whole[:, c], weights[c, ::-1], mode="valid")
        after[row] = whole[-(taps - 1) :]
    write("ssmConv", [("going on and starting", [x, weights, state, positions, rows], {}, y)])
    write("ssmConvWrite", [("going on and starting", [state, x, positions, rows], {}, after)])


def scans():
    """As sums over all earlier tokens, each weakened by the decays between: no recurrence."""
    outputs, states = [], []
    for name, heads, channels, groups, size, one in [("Mamba", 3, 1, 1, 2, False), ("Mamba-2", 4, 2, 2, 3, True)]:
        x, dt = f32(5, heads, channels), np.abs(f32(5, heads))
        a = -np.abs(f32(heads, 1 if one else size))
        b, c, state = f32(5, groups, size), f32(5, groups, size), f32(2, heads, channels, size)
        positions, rows = i32(4, 5, 0, 1, 2), i32(1, 1, 0, 0, 0)
        y, after = np.zeros((5, heads, channels)), state.copy()
        wide = np.broadcast_to(a, (heads, size))
        group = np.arange(heads) * groups // heads
        for row, tokens, past in [(1, [0, 1], state[1]), (0, [2, 3, 4], np.zeros_like(state[0]))]:
            for t in tokens:
                earlier = [u for u in tokens if u <= t]
                decayed = np.exp(sum(dt[u][:, None] for u in earlier) * wide)[:, None, :] * past
                for u in earlier:
                    decay = np.exp(sum((dt[v][:, None] for v in earlier if v > u), np.zeros((heads, 1))) * wide)
                    decayed = decayed + decay[:, None, :] * (dt[u][:, None] * x[u])[:, :, None] * b[u, group][:, None, :]
                y[t] = (decayed * c[t, group][:, None, :]).sum(axis=-1)
            after[row] = decayed
        outputs.append((name, [x, dt, a, b, c, state, positions, rows], {}, y))
        states.append((name, [state, x, dt, a, b, positions, rows], {}, after))
    write("ssmScan", outputs)
    write("ssmScanWrite", states)


def deltas():
    """As products of the matrices that the tokens multiply the state by: no recurrence."""
    outputs, states = [], []
    for name, heads, size, channels, one in [("a decay per head", 2, 4, 3, True), ("a decay per element", 3, 5, 2, False)]:
        q, k, a, b = (f32(5, heads, size, scale=0.5) for _ in range(4))
        v, state = f32(5, heads, channels), f32(2, heads, channels, size)
        decay = np.round(rng.uniform(0.25, 1, size=(5, heads, 1 if one else size)) * 32) / 32
        positions, rows = i32(4, 5, 0, 1, 2), i32(1, 1, 0, 0, 0)
        y, after = np.zeros((5, heads, channels)), state.copy()
        step = decay[..., None] * np.eye(size) + a[..., :, None] * b[..., None, :]
        for row, tokens, past in [(1, [0, 1], state[1]), (0, [2, 3, 4], np.zeros_like(state[0]))]:
            for t in tokens:
                after[row] = past @ product(step, [u for u in tokens if u <= t], heads, size)
                for u in (u for u in tokens if u <= t):
                    added = v[u][:, :, None] * k[u][:, None, :]
                    after[row] += added @ product(step, [w for w in tokens if u < w <= t], heads, size)
                y[t] = np.einsum("hvk,hk->hv", after[row], q[t])
        outputs.append((name, [q, k, v, decay, a, b, state, positions, rows], {}, y))
        states.append((name, [state, k, v, decay, a, b, positions, rows], {}, after))
    write("deltaScan", outputs)
    write("deltaScanWrite", states)


def product(step, tokens, heads, size):
    whole = np.broadcast_to(np.eye(size), (heads, size, size))
    for t in tokens:
        whole = whole @ step[t]
    return whole
