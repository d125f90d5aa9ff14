"""Goldens of ops that move elements, make them or change their type, of windows and of orders."""

import numpy as np

from golden_file import f32, i32, rng, write


def write_all():
    moves()
    orders()
    types()
    creation()
    windows()


def moves():
    x, matrix = f32(2, 3, 4), f32(3, 4)
    order = [2, 0, 1]
    write("transpose", [("matrix", [matrix], {}, matrix.T), ("order", [x], {"axes": order}, np.transpose(x, order))])
    write("expand", [expanded()])
    write(
        "slice",
        [
            ("part", [x], {"axis": 1, "start": 1, "end": 3}, x[:, 1:3]),
            ("steps", [x], {"axis": -1, "start": 1, "step": 2}, x[..., 1::2]),
            ("from the end", [x], {"axis": 0, "start": -1}, x[-1:]),
        ],
    )
    other = f32(2, 2, 4)
    write("concat", [("middle", [x, other], {"axis": 1}, np.concatenate([x, other], axis=1))])
    same = f32(3, 4)
    write("stack", [(f"axis {axis}", [matrix, same], {"axis": axis}, np.stack([matrix, same], axis=axis)) for axis in (0, 1, -1)])
    pads = [[1, 0], [2, 3]]
    write("pad", [("zeros", [matrix], {"pads": pads}, np.pad(matrix, pads)), ("value", [matrix], {"pads": pads, "value": 1.5}, np.pad(matrix, pads, constant_values=1.5))])
    indices = i32(2, 0, 0, 1, shape=(2, 2))
    write("gather", [(f"axis {axis}", [x, indices], {"axis": axis}, np.take(x, indices, axis=axis)) for axis in (1, -1)])
    at, updates = i32(1, 0, 1), f32(2, 3, 4)
    replaced, added = x.copy(), x.copy()
    replaced[:, at] = updates
    np.add.at(added, (slice(None), at), updates)
    write("scatter", [("replace", [x, at, updates], {"axis": 1}, replaced), ("add", [x, at, updates], {"axis": 1, "mode": "add"}, added)])


def expanded():
    x = f32(3, 1)
    return ("broadcast_to", [x], {"shape": [2, 3, 4]}, np.broadcast_to(x, (2, 3, 4)))


def orders():
    x = rng.permutation(24).reshape(2, 3, 4) / 4
    ties = np.array([3, 1, 2, 1, 3, 2.0])
    nan = np.array([2, np.nan, -np.inf, np.inf, 0])
    write("sort", [("last axis", [x], {}, np.sort(x)), ("axis 0", [x], {"axis": 0}, np.sort(x, axis=0)), ("descending", [x], {"axis": 1, "descending": True}, -np.sort(-x, axis=1)), ("NaN is last", [nan], {}, np.sort(nan))])
    stable = np.argsort(-ties, kind="stable")
    write("argsort", [("last axis", [x], {}, np.argsort(x)), ("stable", [ties], {}, np.argsort(ties, kind="stable")), ("descending, stable", [ties], {"descending": True}, stable), ("NaN is last", [nan], {}, np.argsort(nan))])
    write("topK", [("largest", [x], {"k": 2}, -np.sort(-x)[..., :2]), ("smallest of axis 1", [x], {"k": 2, "axis": 1, "largest": False}, np.sort(x, axis=1)[:, :2])])
    write("topKIndices", [("largest", [x], {"k": 2}, np.argsort(-x)[..., :2]), ("ties", [ties], {"k": 3}, stable[:3])])


def types():
    x = np.array([0, 0.5, -0.5, 1.75, -1.75, 2.5, 100.25, -100.25])
    integers = i32(0, 1, -1, 127, 128, 255, 256, -129)
    cases = [("f32 to i32", [x], {"dtype": "i32"}, x.astype(np.int32)), ("f32 to i8", [x], {"dtype": "i8"}, x.astype(np.int8)), ("f32 to bool", [x], {"dtype": "bool"}, x.astype(bool))]
    # More digits than the golden's text has would not be exact; an f16 of up to 11 bits is.
    cases += [("f32 to f16", [np.array([0.3125, 2049, 2051, 4097.0])], {"dtype": "f16"}, np.array([0.3125, 2049, 2051, 4097]).astype(np.float16))]
    cases += [(f"i32 to {dtype}", [integers], {"dtype": dtype}, integers.astype(kind)) for dtype, kind in [("i8", np.int8), ("u8", np.uint8), ("u32", np.uint32), ("f32", float)]]
    cases += [("bool to f32", [integers.astype(bool)], {"dtype": "f32"}, integers.astype(bool))]
    write("cast", cases)
    rows = f32(2, 32, scale=3)
    scale = np.abs(rows).max(axis=1, keepdims=True).astype(np.float32) / np.float32(127)
    steps = rows.astype(np.float32) * (np.float32(1) / scale)
    rounded = np.trunc(steps + np.copysign(np.float32(0.5), steps))
    write("quantize", [("q8_0 by ggml's definition", [rows], {}, rounded * scale.astype(np.float16).astype(float))])
    half = f32(9).astype(np.float16)
    write("dequantize", [("f16", [half], {}, half.astype(float))])


def creation():
    write("full", [("f32", [], {"shape": [2, 3], "value": 2.5}, np.full((2, 3), 2.5)), ("i32", [], {"shape": [4], "value": -7, "dtype": "i32"}, np.full(4, -7))])
    write("arange", [("f32", [], {"count": 7, "start": -1.5, "step": 0.25}, -1.5 + 0.25 * np.arange(7)), ("i32", [], {"count": 5, "start": 3, "step": -2, "dtype": "i32"}, np.arange(3, -7, -2))])
    write("eye", [("square", [], {"rows": 3}, np.eye(3)), ("tall", [], {"rows": 4, "columns": 2}, np.eye(4, 2))])
    # The known answers of the paper's own implementation, Random123.
    assert [hex(word) for word in philox(0, 0, 0)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]
    seed = 2**40 + 12345
    words = np.array([philox(block, 0, seed) for block in range(3)], dtype=np.uint64).ravel()
    uniform = (words >> np.uint64(8)) / 2**24
    pairs = uniform.reshape(-1, 2)
    radius, angle = np.sqrt(-2 * np.log(pairs[:, 0] + 2**-24)), 2 * np.pi * pairs[:, 1]
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()
    drawn = np.array(philox(0, 7, seed), dtype=np.uint64)
    write(
        "random",
        [
            ("uniform", [], {"shape": [11], "seed": seed}, uniform[:11]),
            ("normal", [], {"shape": [2, 5], "seed": seed, "distribution": "normal"}, normal[:10]),
            ("draw 7", [], {"shape": [4], "seed": seed}, (drawn >> np.uint64(8)) / 2**24, {"draw": np.array(7)}),
        ],
    )


def philox(block, draw, seed):
    """Philox4x32-10 with Python's own integers."""
    c = [block, 0, draw, 0]
    k = [seed % 2**32, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q % 2**32, (p >> 32) ^ c[3] ^ k[1], p % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def windows():
    cases = []
    for name, xs, ws, stride, padding, dilation, groups in [("plain", (2, 3, 9), (4, 3, 3), 1, 0, 1, 1), ("all options", (1, 4, 12), (6, 2, 3), 2, 2, 3, 2)]:
        x, w = f32(*xs), f32(*ws)
        padded = np.pad(x, ((0, 0), (0, 0), (padding, padding)))
        reach = dilation * (ws[2] - 1) + 1
        view = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=2)[:, :, ::stride, ::dilation]
        view = view.reshape(xs[0], groups, ws[1], -1, ws[2])
        y = np.einsum("ngcip,gocp->ngoi", view, w.reshape(groups, ws[0] // groups, ws[1], ws[2])).reshape(xs[0], ws[0], -1)
        cases.append((name, [x, w], {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}, y))
    write("conv1d", cases)
    x = f32(1, 2, 6, 5)
    padding = ((0, 0), (0, 0), (1, 1), (0, 0))

    def pooled(a, kernel, stride, f):
        view = np.lib.stride_tricks.sliding_window_view(a, kernel, axis=(2, 3))[:, :, :: stride[0], :: stride[1]]
        return f(view, axis=(4, 5))

    params = {"kernel": [3, 2], "stride": [2, 1], "padding": [1, 0]}
    low, zero, missing = (np.pad(x, padding, constant_values=value) for value in (-np.inf, 0, np.nan))
    plain = {"kernel": [2, 2]}
    write("maxPool2d", [("side by side", [x], plain, pooled(x, (2, 2), (2, 2), np.max)), ("padded", [x], params, pooled(low, (3, 2), (2, 1), np.max))])
    uncounted = {**params, "countPadding": False}
    write("avgPool2d", [("side by side", [x], plain, pooled(x, (2, 2), (2, 2), np.mean)), ("padded", [x], params, pooled(zero, (3, 2), (2, 1), np.mean)), ("padding not counted", [x], uncounted, pooled(missing, (3, 2), (2, 1), np.nanmean))])
