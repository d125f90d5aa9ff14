"""Writes src/goldens/<op>.ts: op results that numpy computed in f64, from the definitions in the literature.

Run from packages/conformance: python3 scripts/goldens.py && biome format --write src/goldens
"""

import numpy as np

import goldens_choices
import goldens_elementwise
import goldens_experts
import goldens_reductions
import goldens_shapes
from golden_file import OUT, f32, i32, over_axes, write


def unary():
    x = np.concatenate([f32(9, scale=3), [0, 12.5, -12.5]]).reshape(3, 4)
    with np.errstate(over="ignore"):
        sigmoid = 1 / (1 + np.exp(-x))
    write("relu", [("relu", [x], {}, np.maximum(x, 0))])
    write("leakyRelu", [("slope 0.25", [x], {"slope": 0.25}, np.where(x < 0, 0.25 * x, x)), ("default slope", [x], {}, np.where(x < 0, 0.01 * x, x))])
    write("elu", [("alpha 1.5", [x], {"alpha": 1.5}, np.where(x < 0, 1.5 * np.expm1(x), x)), ("default alpha", [x], {}, np.where(x < 0, np.expm1(x), x))])
    write("sigmoid", [("sigmoid", [x], {}, sigmoid)])
    write("tanh", [("tanh", [x], {}, np.tanh(x))])
    write("silu", [("silu", [x], {}, x * sigmoid)])
    write("gelu", [("tanh form", [x], {}, 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))])
    write("clip", [("clip", [x], {"min": -1.5, "max": 2}, np.clip(x, -1.5, 2))])
    write("scale", [("scale", [x], {"by": -2.75}, x * -2.75)])


def binary():
    pairs = [("same shape", f32(2, 3), f32(2, 3)), ("row over columns", f32(2, 1, 3), f32(4, 1)), ("scalar", f32(5), np.array(2.5))]
    big = i32(2147483647, -2147483648, 5, -7)
    other = i32(1, -1, 123456789, 987654321)
    for op, f in [("add", np.add), ("sub", np.subtract), ("mul", np.multiply)]:
        wrapped = f(big.astype(np.int32), other.astype(np.int32))
        write(op, [(name, [a, b], {}, f(a, b)) for name, a, b in pairs] + [("i32 wraps", [big, other], {}, wrapped)])
    write("div", [(name, [a, b + np.where(b == 0, 1, 0)], {}, a / (b + np.where(b == 0, 1, 0))) for name, a, b in pairs])


def reductions():
    x = f32(2, 3, 4, scale=2)
    for op, f in [("sum", np.sum), ("max", np.max), ("min", np.min), ("mean", np.mean)]:
        write(op, over_axes(f, x))
    ties = np.array([[1, 3, 3, 2], [5, -1, 5, 5], [-2, -2, -4, -2]], dtype=float)
    nan = np.array([[1, np.nan, 3], [np.inf, 2, np.nan], [-np.inf, -np.inf, -np.inf]])
    write(
        "argmax",
        [
            ("first of equals", [ties], {}, np.argmax(ties, axis=-1)),
            ("axis 0", [ties], {"axis": 0}, np.argmax(ties, axis=0)),
            ("NaN is the largest", [nan], {}, np.argmax(nan, axis=-1)),
        ],
    )
    a, b = f32(11), f32(11)
    write("dot", [("dot", [a, b], {}, np.dot(a, b))])


def softmaxes():
    x = f32(3, 5, scale=4)
    huge = np.array([[1000.0, 1001, 999], [-1000, -1001, -999]])

    def soft(x, axis):
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    cases = [("last axis", x, -1), ("first axis", x, 0), ("large values", huge, -1)]
    write("softmax", [(name, [a], {"axis": axis}, soft(a, axis)) for name, a, axis in cases])
    write("logSoftmax", [(name, [a], {"axis": axis}, np.log(soft(a, axis))) for name, a, axis in cases])


def matrices():
    a, b = f32(3, 5), f32(5, 4)
    write(
        "matmul",
        [
            ("plain", [a, b], {}, a @ b),
            ("both transposed", [a.T.copy(), b.T.copy()], {"transposeA": True, "transposeB": True}, a @ b),
            *[("broadcast batch", [p, q], {}, p @ q) for p, q in [(f32(2, 1, 2, 3), f32(3, 3, 2))]],
        ],
    )
    cases = []
    for name, xs, ws, stride, padding, dilation, groups in [
        ("plain", (1, 2, 5, 4), (3, 2, 3, 2), (1, 1), (0, 0), (1, 1), 1),
        ("all options", (2, 4, 6, 5), (4, 2, 2, 3), (2, 1), (1, 2), (2, 1), 2),
        ("depthwise", (1, 3, 4, 4), (3, 1, 3, 3), (1, 2), (1, 1), (1, 1), 3),
    ]:
        x, w = f32(*xs), f32(*ws)
        params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        cases.append((name, [x, w], params, conv2d(x, w, stride, padding, dilation, groups)))
    write("conv2d", cases)


def conv2d(x, w, stride, padding, dilation, groups):
    """By shifted windows: one einsum per kernel element over the padded input."""
    n, c, h, width = x.shape
    o, per, kh, kw = w.shape
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    rows = (h + 2 * padding[0] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    columns = (width + 2 * padding[1] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((n, groups, o // groups, rows, columns))
    wg = w.reshape(groups, o // groups, per, kh, kw)
    for p in range(kh):
        for q in range(kw):
            i, j = p * dilation[0], q * dilation[1]
            window = padded[:, :, i : i + stride[0] * rows : stride[0], j : j + stride[1] * columns : stride[1]]
            window = window[:, :, :rows, :columns].reshape(n, groups, per, rows, columns)
            y += np.einsum("ngcij,goc->ngoij", window, wg[:, :, :, p, q])
    return y.reshape(n, o, rows, columns)


def transformer():
    table = f32(6, 3)
    ids = i32(5, 0, 2, 2, shape=(2, 2))
    write("embedding", [("rows", [table, ids], {}, table[ids])])
    x, w = f32(2, 3, 6, scale=2), f32(6)
    write("rmsNorm", [("rmsNorm", [x, w], {"eps": 1e-5}, x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5) * w)])
    rope()
    cache = f32(4, 2, 5)
    k, v, slots = f32(2, 2, 3), f32(2, 2, 2), i32(3, 1)
    written = cache.copy()
    written[slots] = np.concatenate([k, v], axis=-1)
    write("kvWrite", [("two rows", [cache, k, v, slots], {}, written)])
    attention()
    p, q = f32(2, 3), f32(2, 3)
    write("assign", [("assign", [p, q], {}, q)])
    write("element", [("f32", [p], {"index": 4}, p.ravel()[4]), ("i32", [i32(7, 8, 9)], {"index": 2}, np.array(9))])
    write("reshape", [("reshape", [p], {"shape": [3, 2]}, p.reshape(3, 2))])


def rope():
    """As a product of complex numbers: the pair (p, q) is p + iq, turned by exp(i angle)."""
    x, positions = f32(3, 2, 8), i32(0, 7, 31)
    factors = np.array([1, 2, 4.0, 0.5])
    cases = []
    for name, rope_type, dims, base, scale, freq in [
        ("norm", "norm", 8, 10000, 1, None),
        ("neox", "neox", 8, 10000, 1, None),
        ("neox, part of the head, scaled", "neox", 6, 500, 0.5, None),
        ("norm, part of the head", "norm", 4, 10000, 1, None),
        ("frequency factors", "neox", 8, 10000, 1, factors),
    ]:
        n = dims // 2
        frequency = base ** (-2 * np.arange(n) / dims) * scale / (1 if freq is None else freq)
        turn = np.exp(1j * positions[:, None, None] * frequency)
        first = np.arange(n) if rope_type == "neox" else 2 * np.arange(n)
        second = first + n if rope_type == "neox" else first + 1
        z = (x[..., first] + 1j * x[..., second]) * turn
        y = x.copy()
        y[..., first], y[..., second] = z.real, z.imag
        params = {"ropeType": rope_type, "dims": dims, "base": base, "scale": scale}
        cases.append((name, [x, positions], params, y, *([] if freq is None else [{"freqFactors": freq}])))
    write("rope", cases)


def attention():
    """Dense: gathers each sequence's keys and values, masks a [T, positions] matrix of scores, softmax, product."""
    T, H, Hkv, dK, dV, S, block = 4, 6, 2, 4, 3, 12, 2
    q, cache = f32(T, H, dK), f32(S, Hkv, dK + dV)
    table = i32(3, 0, 5, 4, 1, 2, shape=(2, 3))
    lens, seq, positions = i32(5, 3), i32(0, 1, 0, 1), i32(4, 2, 2, 1)
    sinks = f32(H)
    cases = []
    bias = (np.arange(5 * H).reshape(H, 5) % 7 - 3) / 4
    for name, params, optional in [
        ("two sequences, paged, GQA, dK != dV", {}, {}),
        ("not causal", {"causal": False}, {}),
        ("window", {"window": 2}, {}),
        ("softcap", {"softcap": 2.5}, {}),
        ("alibi", {"alibi": 8}, {}),
        ("sinks", {}, {"sinks": sinks}),
        ("everything", {"window": 3, "softcap": 4, "alibi": 4}, {"sinks": sinks}),
        ("alibi to both sides", {"alibi": 8, "causal": False}, {}),
        ("bias by distance", {"causal": False}, {"bias": bias}),
    ]:
        causal, window, cap, alibi = params.get("causal", True), params.get("window", 0), params.get("softcap", 0), params.get("alibi", 0)
        y = np.zeros((T, H, dV))
        for t in range(T):
            j = np.arange(lens[seq[t]])
            rows = cache[table[seq[t]][j // block] * block + j % block]
            for h in range(H):
                k, v = rows[:, h // (H // Hkv), :dK], rows[:, h // (H // Hkv), dK:]
                s = 0.5 * (k @ q[t, h])
                if cap:
                    s = cap * np.tanh(s / cap)
                if alibi:
                    s = s - slope(h, H, alibi) * np.abs(j - positions[t])
                if "bias" in optional:
                    s = s + bias[h, np.clip(j - positions[t], -2, 2) + 2]
                seen = np.ones(len(j), bool)
                if causal:
                    seen &= j <= positions[t]
                if window:
                    seen &= j > positions[t] - window
                logits = np.append(s[seen], sinks[h]) if "sinks" in optional else s[seen]
                p = np.exp(logits) / np.exp(logits).sum()
                y[t, h] = p[: seen.sum()] @ v[seen]
        params = {"scale": 0.5, "blockSize": block, **params}
        cases.append((name, [q, cache, positions, seq, table, lens], params, y, *([optional] if optional else [])))
    write("attention", cases)


def slope(h, heads, bias):
    """The geometric series of the ALiBi paper for the nearest power of two, then every other one of the next series."""
    n = 2 ** int(np.floor(np.log2(heads)))
    series = [2 ** (-bias * (i + 1) / n) for i in range(n)]
    longer = [2 ** (-bias * (i + 1) / (2 * n)) for i in range(2 * n)]
    return (series + longer[0::2])[h]


OUT.mkdir(exist_ok=True)
unary()
binary()
reductions()
softmaxes()
matrices()
transformer()
goldens_elementwise.write_all()
goldens_reductions.write_all()
goldens_shapes.write_all()
goldens_choices.write_all()
goldens_experts.write_all()
