"""Writes test/fixtures/encoded.json: what ggml itself (version 0.16) makes of rows and of random blocks.

Run from packages/quant: python3 scripts/goldens.py /path/to/libggml-base.so /path/to/libggml-cpu-haswell.so
"""

import base64
import ctypes
import hashlib
import json
import pathlib
import sys

import numpy as np

OUT = pathlib.Path(__file__).parent.parent / "test/fixtures/encoded.json"
ENCODED = {  # id, elements and bytes of a block
    "q4_0": (2, 32, 18),
    "q4_1": (3, 32, 20),
    "q5_0": (6, 32, 22),
    "q5_1": (7, 32, 24),
    "q8_0": (8, 32, 34),
    "q2_K": (10, 256, 84),
    "q3_K": (11, 256, 110),
    "q4_K": (12, 256, 144),
    "q5_K": (13, 256, 176),
    "q6_K": (14, 256, 210),
    "iq4_nl": (20, 32, 18),
    "iq4_xs": (23, 256, 136),
}
CODEBOOKS = {"iq1_s": 50, "iq1_m": 56, "iq2_xxs": 66, "iq2_xs": 74, "iq2_s": 82, "iq3_xxs": 98, "iq3_s": 110}
COLUMNS = 256
BLOCKS = 512

ggml = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
cpu = ctypes.CDLL(sys.argv[2])
cpu.ggml_cpu_init()
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
ggml.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p]
rng = np.random.default_rng(20240229)


def text(array):
    return base64.b64encode(array.tobytes()).decode()


def rows():
    """Rows as weights have them, and as they should not: sparse, with a shift, with equal values, of zeros and of tiny ones."""
    n = COLUMNS
    halves = np.where(np.arange(n) % 64 < 32, 0.5, rng.normal(size=n))
    ends = np.where(np.arange(n) < 128, 0.0, rng.normal(size=n) * 1e-12)
    sparse = rng.normal(size=n) * 0.02 * (rng.random(n) < 0.1)
    return np.array([rng.normal(size=n) * 0.02, rng.laplace(size=n), sparse, rng.uniform(1, 2, size=n), halves, ends], np.float32)


def encode(kind, values, importance):
    number, elements, size = ENCODED[kind]
    out = np.zeros(values.size // elements * size, np.uint8)
    ggml.ggml_quantize_chunk(number, values.ctypes.data, out.ctypes.data, 0, *values.shape, importance if importance is None else importance.ctypes.data)
    return text(out)


def products(kind, values):
    """Products of the first row as activations with every row as weights, as ggml's CPU code computes them."""
    _, elements, size = ENCODED[kind]
    n = values.shape[1]
    weights = np.zeros(values.size // elements * size, np.uint8)
    ggml.ggml_quantize_chunk(ENCODED[kind][0], values.ctypes.data, weights.ctypes.data, 0, *values.shape, None)
    activations = np.zeros(n // 32 * 36, np.uint8)
    cpu.quantize_row_q8_1(ctypes.c_void_p(values.ctypes.data), ctypes.c_void_p(activations.ctypes.data), ctypes.c_int64(n))
    result = ctypes.c_float()
    out = []
    for row in weights.reshape(values.shape[0], -1):
        x, y = (ctypes.c_void_p(np.ascontiguousarray(part).ctypes.data) for part in (row, activations))
        getattr(cpu, f"ggml_vec_dot_{kind}_q8_1")(n, ctypes.byref(result), ctypes.c_size_t(0), x, ctypes.c_size_t(0), y, ctypes.c_size_t(0), 1)
        out.append(result.value)
    return out


def random_bytes(count):
    """The bytes that the test generates too."""
    state = 1
    out = np.zeros(count, np.uint8)
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        out[i] = state >> 24
    return out


def decoded_hash(kind):
    size = CODEBOOKS[kind]
    blocks = random_bytes(BLOCKS * size).reshape(BLOCKS, size)
    # Bit 14 of the scale is cleared, so that it is finite.
    blocks[:, 55 if kind == "iq1_m" else 1] &= 0xBF
    values = np.zeros(BLOCKS * 256, np.float32)
    getattr(ggml, f"dequantize_row_{kind}")(ctypes.c_void_p(blocks.ctypes.data), ctypes.c_void_p(values.ctypes.data), ctypes.c_int64(values.size))
    return hashlib.sha256(values.tobytes()).hexdigest()


values = rows()
importance = (rng.random(COLUMNS) ** 4 * 3).astype(np.float32)
importance[::37] = 0
importance[128:160] = 0
OUT.write_text(
    json.dumps(
        {
            "values": text(values),
            "imatrix": text(importance),
            "encoded": {kind: {"plain": encode(kind, values, None), "imatrix": encode(kind, values, importance)} for kind in ENCODED},
            "products": {kind: products(kind, values) for kind in ("q4_1", "q5_1")},
            "codebookBlocks": BLOCKS,
            "codebooks": {kind: decoded_hash(kind) for kind in CODEBOOKS},
        },
        indent=2,
    )
    + "\n"
)
