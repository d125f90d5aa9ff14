"""Writes what llama.cpp computes with the models of its own architecture test, beside each: NAME.gguf.f32, for archDistances.mjs.

test-llama-archs --seed 42 --out FOLDER
LLAMA_BINS=… python3 scripts/arch_logits.py FOLDER, with the library of family_goldens.py

A text has 24 tokens. The models have no vocabulary; encoders are not among them.
"""

import pathlib
import subprocess
import sys

from family_goldens import Library

IDS = [(i * 7 + 3) % 128 for i in range(24)]
"""Computed with fused attention, without which llama.cpp leaves out sparse attention."""
FUSED = ["minimax-m3"]


def write(path):
    library = Library()
    model = library.from_file(str(path).encode(), library.model_params())
    logits = library.run(model, IDS, None, path.name.startswith(tuple(FUSED)))
    logits.astype("<f4").tofile(f"{path}.f32")


if __name__ == "__main__":
    given = pathlib.Path(sys.argv[1])
    if given.is_file():
        write(given)
    else:
        for file in sorted(given.glob("*.gguf")):
            # A failed assertion in the library ends its process.
            if subprocess.run([sys.executable, __file__, file], check=False).returncode != 0:
                print(f"{file.name}: llama.cpp does not compute it")
