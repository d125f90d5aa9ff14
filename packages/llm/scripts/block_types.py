"""Writes models of every block type, with and without an importance matrix, and what llama.cpp computes with them, for blockTypes.mjs:

node --conditions=@centella/source scripts/familyModels.mjs MODELS
LLAMA_BINS=<node_modules>/@node-llama-cpp/linux-x64/bins/linux-x64 python3 scripts/block_types.py MODELS FOLDER

FOLDER gets NAME.TYPE.gguf and NAME.TYPE.imatrix.gguf, each with the logits of the last position in a .f32 file next to it. llama.cpp refuses some
types without an importance matrix.
"""

import ctypes as C
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np

from family_goldens import OUT, Library, declare, uniform
from quantized_goldens import QuantizeParams

NAMES = ["llama-wide", "qwen3moe-wide", "mamba2-wide"]
"""Numbers of llama.cpp's `llama_ftype` by the type that most tensors get."""
TYPES = {
    "f16": 1, "bf16": 32, "q4_0": 2, "q4_1": 3, "q5_0": 8, "q5_1": 9, "q8_0": 7, "q2_K": 10, "q3_K": 12, "q4_K": 15, "q5_K": 17, "q6_K": 18,
    "iq2_xxs": 19, "iq2_xs": 20, "iq2_s": 28, "iq3_xxs": 23, "iq3_s": 26, "iq1_s": 24, "iq1_m": 31, "iq4_nl": 25, "iq4_xs": 30,
    "tq1_0": 36, "tq2_0": 37, "mxfp4": 38, "nvfp4": 39, "q1_0": 40, "q2_0": 41,
}


class ImatrixData(C.Structure):
    _fields_ = [("name", C.c_char_p), ("data", C.POINTER(C.c_float)), ("size", C.c_size_t)]


def importance(golden):
    """Numbers from 0.1 to 1.9 for each column of each weight, stacked experts after one another."""
    layers = next(value for key, _, value in golden["metadata"] if key.endswith("block_count"))
    for pattern, shape in golden["tensors"].items():
        for layer in range(layers if "*" in pattern else 1):
            name = pattern.replace("*", str(layer))
            if len(shape) > 1:
                count = shape[-1] * (shape[0] if len(shape) == 3 else 1)
                yield name, (1 + 0.9 * uniform(f"importance of {name}", count)).astype(np.float32)


def write(source, target, ftype, imatrix, ids):
    library = Library()
    params = declare(library.llama, "llama_model_quantize_default_params", QuantizeParams)()
    struct.pack_into("<ii", params.bytes, 0, 1, ftype)
    data = (ImatrixData * (len(imatrix) + 1))()
    for i, (name, values) in enumerate(imatrix):
        data[i] = ImatrixData(name.encode(), values.ctypes.data_as(C.POINTER(C.c_float)), len(values))
    if imatrix:
        struct.pack_into("<Q", params.bytes, 24, C.addressof(data))
    quantize = declare(library.llama, "llama_model_quantize", C.c_uint32, C.c_char_p, C.c_char_p, C.c_void_p)
    if quantize(source.encode(), f"{target}.gguf".encode(), C.byref(params)) != 0:
        raise SystemExit("llama.cpp refuses the type")
    model = library.from_file(f"{target}.gguf".encode(), library.model_params())
    library.run(model, ids, None)[-1].astype("<f4").tofile(f"{target}.f32")


def main(models, folder):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        for kind in TYPES:
            for suffix in ("", ".imatrix"):
                target = f"{folder}/{name}.{kind}{suffix}"
                # A failed assertion in the library ends its process.
                run = subprocess.run([sys.executable, __file__, "--one", models, name, kind, target], capture_output=True, text=True, check=False)
                if run.returncode != 0:
                    pathlib.Path(f"{target}.gguf").unlink(missing_ok=True)
                print(f"{target}: {'written' if run.returncode == 0 else run.stderr.strip().splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        _, _, models, name, kind, target = sys.argv
        golden = json.loads((OUT / f"{name}.json").read_text())
        imatrix = list(importance(golden)) if target.endswith(".imatrix") else []
        write(f"{models}/{name}.gguf", target, TYPES[kind], imatrix, golden["ids"])
    else:
        main(*sys.argv[1:])
