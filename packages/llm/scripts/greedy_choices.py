"""Writes test/fixtures/greedyChoices.json: where llama.cpp's portable build chooses otherwise than the recorded greedy runs. As family_goldens.py.

The runs (`greedy.jsonl` of the outside test data, CENTELLA_SHARED) are those of a build for AVX. Another build adds the same products in
another order, so that now and then an activation rounds to the neighbouring 8-bit value; of a small model that decides close choices. Each
build is fed the same ids, and the builds that agree with the record are named on the way.
"""

import json
import os
import pathlib
import subprocess
import sys

from family_goldens import Library

ROOT = pathlib.Path(__file__).parent
OUT = ROOT.parent / "test/fixtures/greedyChoices.json"
SHARED = pathlib.Path(os.environ.get("CENTELLA_SHARED", ROOT.parents[3] / "shared"))
PORTABLE = "x64"
BUILDS = [PORTABLE, "haswell", "skylakex", "zen4"]


def runs():
    for folder in ("data/stories260K", "models"):
        for line in (SHARED / folder / "greedy.jsonl").read_text().splitlines():
            yield folder, json.loads(line)


def others(build):
    """By model and prompt, the places where a build chooses another id than the record, and which."""
    library = Library(build)
    found = {}
    for folder, run in runs():
        model = library.from_file(str(SHARED / folder / run["model"]).encode(), library.model_params())
        prompt, out = run["prompt_ids"], run["out"]
        choices = library.run(model, prompt + out[:-1], None).argmax(axis=1)[len(prompt) - 1 :]
        library.free(model)
        found[f"{run['model']} {' '.join(map(str, prompt))}"] = {i: int(own) for i, (own, recorded) in enumerate(zip(choices, out)) if own != recorded}
    return found


def main():
    if len(sys.argv) == 2:
        print(json.dumps(others(sys.argv[1])))
        return
    # A process has one build.
    found = {build: json.loads(subprocess.run([sys.executable, __file__, build], check=True, capture_output=True, text=True).stdout) for build in BUILDS}
    for run in found[PORTABLE]:
        print(run, {build: 100 - len(found[build][run]) for build in BUILDS})
    kept = {run: ids for run, ids in found[PORTABLE].items() if ids}
    OUT.write_text("{\n" + ",\n".join(f"  {json.dumps(run)}: {json.dumps(ids)}" for run, ids in kept.items()) + "\n}\n")


if __name__ == "__main__":
    main()
