"""Writes test/fixtures/adapters/<case>.json: what llama.cpp computes with the tiny models of family_goldens.py and LoRA adapters.

As family_goldens.py. An adapter's numbers come from its own tensors' names, so the goldens hold none of them either.
"""

import ctypes as C
import json
import pathlib
import re
import struct
import sys
import tempfile
from dataclasses import dataclass

import numpy as np

from family_cases import CASES
from family_goldens import TOKENS, Library, compact, declare, encode, uniform

OUT = pathlib.Path(__file__).parent.parent / "test/fixtures/adapters"


@dataclass
class Adapter:
    """Names of the weights that it adapts, `blk.*.` for every block that has one."""

    weights: list
    rank: int
    alpha: float
    scale: float


@dataclass
class Case:
    name: str
    model: str
    adapters: list


ATTENTION = [f"blk.*.attn_{name}.weight" for name in ("q", "k", "v", "output")]
FEED_FORWARD = [f"blk.*.ffn_{name}.weight" for name in ("gate", "up", "down")]
EXPERTS = [f"blk.*.ffn_{name}_exps.weight" for name in ("gate", "up", "down")]
ADAPTER_CASES = [
    Case("every-product", "internlm2", [Adapter([*ATTENTION, *FEED_FORWARD, "token_embd.weight"], 3, 6.0, 1.0)]),
    Case("output", "xverse", [Adapter(["output.weight", "token_embd.weight"], 2, 0.0, 0.5)]),
    Case("two", "seed_oss", [Adapter([*ATTENTION, "blk.0.ffn_up.weight"], 4, 8.0, 0.5), Adapter([*ATTENTION[:2], *FEED_FORWARD], 2, 0.0, -1.25)]),
    Case("experts", "qwen3moe", [Adapter([*EXPERTS, "blk.*.ffn_gate_inp.weight", *ATTENTION], 2, 3.0, 1.0)]),
    Case("experts-scaled", "llama-moe-full", [Adapter(EXPERTS[:2], 2, 2.0, 0.75), Adapter(EXPERTS[1:], 3, 2.0, 1.5)]),
    Case("experts-shared", "qwen2moe", [Adapter([*EXPERTS, "blk.*.ffn_up_shexp.weight", "blk.*.ffn_down_shexp.weight"], 2, 2.0, 1.0)]),
    Case("scaled", "hunyuan-dense-full", [Adapter([*ATTENTION, *FEED_FORWARD], 2, 2.0, 1.0)]),
    Case("fused", "falcon-40b", [Adapter(["blk.*.attn_qkv.weight", "blk.*.ffn_up.weight"], 3, 3.0, 1.0)]),
    Case("fused-gate", "glm4", [Adapter(["blk.*.ffn_up.weight", "blk.1.attn_v.weight"], 3, 3.0, 1.0)]),
    Case("recurrent", "jamba", [Adapter(["blk.*.ssm_in.weight", "blk.*.ssm_x.weight", "blk.*.ssm_out.weight", "blk.*.attn_q.weight"], 2, 2.0, 1.0)]),
]


def factors(name, shape, rank):
    """Shapes of A and B; a table's A has a row for each id."""
    *experts, rows, columns = shape
    if name == "token_embd.weight":
        return [rows, rank], [columns, rank]
    return [*experts, rank, columns], [*experts, rows, rank]


def write_gguf(path, architecture, alpha, tensors):
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    strings = {"general.type": "adapter", "adapter.type": "lora", "general.architecture": architecture}
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(strings) + 1)
    for key, value in strings.items():
        out += text(key) + struct.pack("<I", 8) + text(value)
    out += text("adapter.lora.alpha") + struct.pack("<If", 6, alpha)
    offset, data = 0, b""
    for name, values in tensors.items():
        out += text(name) + struct.pack(f"<I{values.ndim}QIQ", values.ndim, *values.shape[::-1], 0, offset)
        data += values.tobytes()
        data += bytes(-len(data) % 32)
        offset = len(data)
    path.write_bytes(out + bytes(-len(out) % 32) + data)


def write(case):
    library = Library()
    llama = library.llama
    model_case = next(other for other in CASES if other.name == case.model)
    entries = model_case.metadata()
    in_memory, shapes = library.full(entries, model_case.optional, model_case.candidates)
    folder = pathlib.Path(tempfile.mkdtemp())
    # Adapters are taken by models that come from files.
    library.save(in_memory, str(folder / "model.gguf").encode())
    model = library.from_file(str(folder / "model.gguf").encode(), library.model_params())
    load = declare(llama, "llama_adapter_lora_init", C.c_void_p, C.c_void_p, C.c_char_p)
    loaded, described = [], []
    for index, adapter in enumerate(case.adapters):
        tensors = {}
        for pattern in adapter.weights:
            names = [name for name in shapes if re.fullmatch(pattern.replace(".", r"\.").replace("*", r"\d+"), name)]
            assert names, pattern
            for name in names:
                for end, shape in zip("ab", factors(name, shapes[name], adapter.rank)):
                    key = f"{name}.lora_{end}"
                    values = uniform(f"{index}.{key}", int(np.prod(shape))) / np.sqrt(shape[-1])
                    tensors[key] = np.ascontiguousarray(values.reshape(shape), dtype=np.float32)
        path = folder / f"{index}.gguf"
        write_gguf(path, model_case.family, adapter.alpha, tensors)
        handle = load(model, str(path).encode())
        if not handle:
            raise SystemExit("llama.cpp: " + "".join(library.log)[-500:])
        loaded.append(handle)
        described.append({"alpha": adapter.alpha, "scale": adapter.scale, "tensors": compact({k: list(v.shape) for k, v in tensors.items()}, model_case.layers)})
    library.adapters = [(C.c_void_p * len(loaded))(*loaded), len(loaded), (C.c_float * len(loaded))(*[adapter.scale for adapter in case.adapters])]
    ids = [(i * 7 + 3) % model_case.vocab for i in range(TOKENS)]
    golden = {
        "oracle": f"llama.cpp {library.version}, as shipped by node-llama-cpp 3.22.1",
        "model": case.model,
        "adapters": described,
        "logits": encode(library.run(model, ids, None)),
    }
    lines = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in golden.items())
    OUT.mkdir(exist_ok=True)
    (OUT / f"{case.name}.json").write_text("{\n" + lines + "\n}\n")
    print(f"{case.name}: {sum(len(one['tensors']) for one in described)} kinds of tensors")


if __name__ == "__main__":
    for case in ADAPTER_CASES:
        if len(sys.argv) == 1 or case.name in sys.argv[1:]:
            write(case)
