"""Writes test/fixtures/savedMetadata.json: what llama.cpp's own writer puts in a file of any model besides what the model says. As family_goldens.py.

That is what it writes alike for two models of different sizes and was not given, by the key behind the architecture's name. Lists of one
value for each of the 512 layers that llama.cpp has room for are left out, as is what JSON has no number for.
"""

import dataclasses
import json
import math
import pathlib
import struct
import tempfile

from family_cases import CASES
from family_goldens import OUT, Library

FILE = OUT.parent / "savedMetadata.json"
KINDS = {4: ("u32", "I"), 5: ("i32", "i"), 6: ("f32", "f"), 7: ("bool", "?")}
STRING, ARRAY = 8, 9


def metadata(path):
    """Entries as they stand in a file: key, kind, value."""
    with open(path, "rb") as file:

        def take(code):
            return struct.unpack(f"<{code}", file.read(struct.calcsize(f"<{code}")))[0]

        def text():
            return file.read(take("Q")).decode(errors="replace")

        def value(kind):
            return text() if kind == STRING else take(KINDS[kind][1])

        file.seek(16)
        for _ in range(take("Q")):
            key, kind = text(), take("I")
            if kind == ARRAY:
                kind = take("I")
                values = [value(kind) for _ in range(take("Q"))]
                yield key, "strings" if kind == STRING else f"{KINDS[kind][0]}[]", values
            else:
                yield key, "string" if kind == STRING else KINDS[kind][0], value(kind)


def saved(library, case):
    """What the writer adds to a case's own metadata."""
    model, _, _ = library.model(case.metadata(), case.optional)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.gguf"
        library.save(model, str(path).encode())
        given = {key for key, _, _ in case.metadata()}
        own = f"{case.family}."
        return [(key.removeprefix(own), kind, value) for key, kind, value in metadata(path) if key.startswith(own) and key not in given]


def main():
    library = Library()
    case = next(case for case in CASES if case.name == "internlm2")
    larger = dataclasses.replace(case, width=2 * case.width, extra={**case.extra, "context_length": 128})
    others = saved(library, larger)
    entries = [entry for entry in saved(library, case) if entry in others and not (isinstance(entry[2], list) and len(entry[2]) == 512)]
    entries = [entry for entry in entries if not (isinstance(entry[2], float) and math.isinf(entry[2]))]
    FILE.write_text("[\n" + ",\n".join(f"  {json.dumps(entry)}" for entry in entries) + "\n]\n")
    print(f"{len(entries)} entries")


if __name__ == "__main__":
    main()
