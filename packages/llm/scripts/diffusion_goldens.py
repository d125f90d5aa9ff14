"""Writes test/fixtures/diffusion.json: texts that masked tokens become by llama.cpp's logits, filled in as its examples/diffusion does.

LLAMA_BINS=<node_modules>/@node-llama-cpp/linux-x64/bins/linux-x64 python3 scripts/diffusion_goldens.py

The tokens are the likeliest ones, of which a mask is none. In the order "entropy" the lowest entropies are the first (Dream's
`neg_entropy`); diffusion.cpp at this version takes the highest.
"""

import json

import numpy as np

from family_cases import CASES
from family_goldens import OUT, Library

MASK = 39
PROMPT = [5, 9, 31, 17, 8]
RUNS = [
    ("llada", {"maxTokens": 11, "diffusion": {"blockLength": 4, "steps": 6}}),
    ("llada", {"maxTokens": 10, "diffusion": {"blockLength": 10, "steps": 4, "order": "entropy"}}),
    ("llada", {"maxTokens": 9}),
    ("dream", {"maxTokens": 12, "diffusion": {"epsilon": 0.001, "steps": 5, "order": "entropy"}}),
    ("dream", {"maxTokens": 12, "diffusion": {"epsilon": 0.1, "steps": 20, "order": "margin"}}),
    ("dream", {"maxTokens": 8, "diffusion": {"steps": 3}}),
]


def confidences(rows, order):
    """Of the likeliest token of each row, and these tokens."""
    rows = rows.astype(np.float64)
    rows[:, MASK] = -np.inf
    p = np.exp(rows - rows.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    top = np.sort(p, axis=1)[:, ::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(np.where(p > 0, p * np.log(p), 0), axis=1)
    return {"confidence": top[:, 0], "entropy": -entropy, "margin": top[:, 0] - top[:, 1]}[order], p.argmax(axis=1)


def fill(logits_of, options, shifts):
    length, chosen = options["maxTokens"], options.get("diffusion", {})
    steps, epsilon, order = chosen.get("steps", length), chosen.get("epsilon"), chosen.get("order", "confidence")
    ids = PROMPT + [MASK] * length
    block = length if epsilon is not None else chosen.get("blockLength", 32)
    blocks = [range(len(PROMPT) + i, len(PROMPT) + min(length, i + block)) for i in range(0, length, block)]
    per_block = max(1, steps // len(blocks))
    for positions in blocks:
        for step in range(per_block):
            masked = [at for at in positions if ids[at] == MASK]
            if epsilon is None:
                count = len(positions) // per_block + (step < len(positions) % per_block)
            else:
                f = np.float32
                t, s = (f(1) - f(n) / f(per_block) * (f(1) - f(epsilon)) for n in (step, step + 1))
                count = int(f(len(masked)) * (f(1) - s / t)) if step < per_block - 1 else len(masked)
            if not masked:
                break
            rows = logits_of(ids)[[max(0, at - 1) if shifts else at for at in masked]]
            sure, tokens = confidences(rows, order)
            for i in np.argsort(-sure, kind="stable")[:count]:
                ids[masked[i]] = int(tokens[i])
    return ids[len(PROMPT) :]


if __name__ == "__main__":
    library = Library()
    results = []
    for family, options in RUNS:
        case = next(case for case in CASES if case.name == family)
        model, _ = library.full(case.metadata(), case.optional, case.candidates)
        ids = fill(lambda ids: library.run(model, ids, None), options, shifts=family == "dream")
        results.append({"family": family, "options": options, "ids": ids})
    lines = ",\n".join("    " + json.dumps(result) for result in results)
    oracle = f"llama.cpp {library.version}, as shipped by node-llama-cpp 3.22.1"
    head = f'{{\n  "oracle": "{oracle}",\n  "mask": {MASK},\n  "prompt": {json.dumps(PROMPT)},\n'
    (OUT.parent / "diffusion.json").write_text(head + f'  "results": [\n{lines}\n  ]\n}}\n')
