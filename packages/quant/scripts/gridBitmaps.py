"""Writes src/types/codebook/gridBitmaps.ts from the codebooks of llama.cpp's Python package `gguf` (module gguf.quants).

Every codebook of ggml lists its points in ascending order of their digits, the first value of a point being the lowest digit, so the
set of its points says everything: one bit for each of the base^dimensions points that there could be.

Run from packages/quant: pip install gguf && python3 scripts/gridBitmaps.py
"""

import base64
import pathlib

import gguf.quants
import numpy as np

OUT = pathlib.Path(__file__).parent.parent / "src/types/codebook/gridBitmaps.ts"
GRIDS = {"iq1": "IQ1_S", "iq2Xxs": "IQ2_XXS", "iq2Xs": "IQ2_XS", "iq2S": "IQ2_S", "iq3Xxs": "IQ3_XXS", "iq3S": "IQ3_S"}


def bitmap(name):
    codec = getattr(gguf.quants, name)
    codec.init_grid()
    grid = codec.grid.reshape(codec.grid_shape)
    levels = sorted(codec.grid_map)
    base = len(levels)
    points = np.searchsorted(levels, grid) @ base ** np.arange(grid.shape[1])
    assert (np.diff(points) > 0).all(), f"{name} is not in ascending order"
    members = np.zeros(base ** grid.shape[1], np.uint8)
    members[points] = 1
    return base64.b64encode(np.packbits(members, bitorder="little").tobytes()).decode()


lines = [
    "/**",
    " * Which points each codebook of ggml has, made by scripts/gridBitmaps.py from the tables of `gguf.quants`. Base64 of bits, lowest",
    " * first: bit `p` is set if the point whose digits spell `p` is in the codebook, the first value of a point being the lowest digit.",
    " */",
    "export const gridBitmaps = {",
    *(f'  {key}:\n    "{bitmap(name)}",' for key, name in GRIDS.items()),
    "} as const;",
    "",
]
OUT.write_text("\n".join(lines))
