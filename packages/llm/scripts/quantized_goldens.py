"""Writes test/fixtures/quantized.json: what llama.cpp computes with the families' tiny models after it has quantized them.

node --conditions=@centella/source scripts/familyModels.mjs FOLDER
LLAMA_BINS=<node_modules>/@node-llama-cpp/linux-x64/bins/linux-x64 python3 scripts/quantized_goldens.py FOLDER [name …]

"archs/NAME" are the models of $CENTELLA_SHARED/data/archs, whose rows have 256 elements. llama.cpp quantizes each model with each of RECIPES,
and computes the ids of its golden with an f32 cache. Kept are the logits of the last position of the golden, so that the file stays small, or the
mean of an encoder's states, or the logits of a decoder's first token. A model that llama.cpp cannot quantize has no entry, such as one with rows
that are no multiple of 32, nor has a model that ranks.
"""

import ctypes as C
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

from family_cases import CASES
from family_goldens import OUT, Library, declare, encode, visible

FILE = OUT.parent / "quantized.json"
ARCHS = pathlib.Path(os.environ.get("CENTELLA_SHARED", FILE.parents[5] / "shared")) / "data/archs"
"""What `computed` reads of a golden."""
KEYS = ("ids", "rows", "hidden", "logits", "text")
"""LLAMA_POOLING_TYPE_MEAN."""
MEAN = 1
"""Numbers of llama.cpp's `llama_ftype`."""
RECIPES = {"Q8_0": 7, "Q4_K_M": 15}


class QuantizeParams(C.Structure):
    """Threads, the recipe, and what stays at its default. Offsets are those of this version."""

    _fields_ = [("bytes", C.c_uint8 * 80)]


def last(golden):
    """The last position whose logits a golden has."""
    return golden.get("rows", [len(golden["ids"]) - 1])[-1]


def computed(library, model, golden, fused):
    if "text" in golden:
        return library.translate(model, golden["ids"], golden["text"][:1])[0]
    if "logits" not in golden:
        return library.run(model, golden["ids"], MEAN)
    return visible(library.run(model, golden["ids"], None, fused), golden.get("hidden"))[last(golden)]


def quantized(path, golden, fused):
    """What is compared, by recipe."""
    library = Library()
    default_params = declare(library.llama, "llama_model_quantize_default_params", QuantizeParams)
    quantize = declare(library.llama, "llama_model_quantize", C.c_uint32, C.c_char_p, C.c_char_p, C.c_void_p)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for recipe, number in RECIPES.items():
            to = f"{folder}/{recipe}.gguf".encode()
            params = default_params()
            struct.pack_into("<ii", params.bytes, 0, 1, number)
            if quantize(str(path).encode(), to, C.byref(params)) != 0:
                continue
            model = library.from_file(to, library.model_params())
            if model:
                found[recipe] = encode(computed(library, model, golden, fused))
    return found


def main(folder, wanted):
    fused = {case.name for case in CASES if case.fused}
    jobs = {}
    for path in sorted(OUT.glob("*.json")):
        golden = json.loads(path.read_text())
        if {"logits", "mean", "text"} & golden.keys():
            jobs[path.stem] = (f"{folder}/{path.stem}.gguf", {key: golden[key] for key in KEYS if key in golden}, path.stem in fused)
    for path in sorted(ARCHS.glob("*.gguf")):
        jobs[f"archs/{path.stem}"] = (str(path), {"ids": list(range(1, 13)), "logits": ""}, False)
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in wanted or jobs:
        # A failed assertion in the library ends its process.
        run = subprocess.run([sys.executable, __file__, "--one", json.dumps(jobs[name])], capture_output=True, text=True, check=False)
        found = json.loads(run.stdout.splitlines()[-1]) if run.returncode == 0 else {}
        known.pop(name, None)
        if found:
            known[name] = found
        print(f"{name}: {', '.join(found) or 'nothing'}", flush=True)
    FILE.write_text("{\n" + ",\n".join(f'  "{name}": {json.dumps(known[name])}' for name in sorted(known)) + "\n}\n")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(quantized(*json.loads(sys.argv[2]))))
    else:
        main(sys.argv[1], sys.argv[2:])
