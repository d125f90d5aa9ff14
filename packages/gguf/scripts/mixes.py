"""Writes test/fixtures/mixes.json: the types that llama.cpp chooses for the tensors of models of many shapes.

python scripts/mixes.py FOLDER, where FOLDER has llama.cpp's libraries (libllama*.so, libggml*.so), for example those of the npm
package @node-llama-cpp/linux-x64. Needs `pip install gguf`."""
import ctypes
import itertools
import json
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np

folder = Path(sys.argv[1])


class Params(ctypes.Structure):
    """`struct llama_model_quantize_params` of llama.h."""
    _fields_ = [(name, ctypes.c_int) for name in ("threads", "ftype", "output_type", "embedding_type")] + [
        (name, ctypes.c_bool) for name in ("requantize", "quantize_output", "only_copy", "pure", "keep_split", "dry_run")
    ] + [(name, ctypes.c_void_p) for name in ("imatrix", "overrides", "tensor_types", "prune")]


class ImatrixData(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.POINTER(ctypes.c_float)), ("size", ctypes.c_size_t)]


def load(pattern):
    return ctypes.CDLL(str(sorted(folder.glob(pattern))[0]), mode=ctypes.RTLD_GLOBAL)


load("libggml-base*.so")
ggml, llama = load("libggml.*so"), load("libllama.*so")
ggml.ggml_backend_load_all_from_path(str(folder).encode())
llama.llama_model_quantize_default_params.restype = Params
silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
llama.llama_log_set(silent, None)

recipes = {"F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K_S": 11, "Q3_K_M": 12, "Q3_K_L": 13,
           "Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17, "Q6_K": 18, "Q2_K_S": 21, "IQ4_NL": 25, "IQ4_XS": 30, "BF16": 32}
embedding, output, norm = ("token_embd.weight", [8, 256]), ("output.weight", [8, 256]), ("output_norm.weight", [256])


def matrices(*names, columns=256):
    return [(f"blk.{{}}.{name}.weight", [2, columns]) for name in names]


llama_layer = [("blk.{}.attn_norm.weight", [256])] + matrices(
    "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
experts = [(f"blk.{{}}.{name}.weight", [2, 2, 256]) for name in ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps")]
expert_layer = matrices("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate_inp") + experts
narrow_layer = matrices("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", columns=224) + matrices("ffn_down", columns=172)
fused_layer = matrices("attn_qkv", "attn_output", "ffn_up", "ffn_down")

# name, architecture, layers, heads, heads of keys and values, experts, tensors of none and of each layer
models = [
    ("many heads", "llama", 32, 32, 32, 0, [embedding, output, norm], llama_layer),
    ("shared heads, tied", "llama", 27, 32, 8, 0, [embedding, norm], llama_layer),
    ("two layers", "llama", 2, 4, 2, 0, [embedding, output], llama_layer),
    ("eighty layers, shared heads", "llama", 80, 64, 8, 0, [embedding, output], llama_layer),
    ("eighty layers", "llama", 80, 64, 64, 0, [embedding, output], llama_layer),
    ("eighty layers of another", "qwen2", 80, 64, 8, 0, [embedding, output], llama_layer),
    ("eight experts", "llama", 32, 32, 8, 8, [embedding, output], expert_layer),
    ("four experts", "llama", 18, 32, 8, 4, [embedding, output], expert_layer),
    ("falcon", "falcon", 32, 71, 1, 0, [embedding, output], fused_layer),
    ("fused attention", "phi3", 24, 32, 32, 0, [embedding, output], fused_layer),
    ("narrow rows", "llama", 16, 7, 7, 0, [("token_embd.weight", [8, 224]), ("rope_freqs.weight", [32])], narrow_layer),
]


def write(path, architecture, layers, heads, kv_heads, expert_count, tensors):
    writer = gguf.GGUFWriter(path, architecture)
    for add, value in ((writer.add_context_length, 128), (writer.add_embedding_length, 64 * heads), (writer.add_block_count, layers),
                       (writer.add_feed_forward_length, 256), (writer.add_head_count, heads), (writer.add_head_count_kv, kv_heads),
                       (writer.add_layer_norm_rms_eps, 1e-5), (writer.add_layer_norm_eps, 1e-5), (writer.add_vocab_size, 8),
                       (writer.add_rope_dimension_count, 64)):
        add(value)
    if expert_count:
        writer.add_expert_count(expert_count)
        writer.add_expert_used_count(2)
    random = np.random.default_rng(7)
    for name, shape in tensors:
        writer.add_tensor(name, random.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantize(source, target, ftype, imatrix):
    params = llama.llama_model_quantize_default_params()
    params.threads, params.ftype = 2, ftype
    if imatrix is not None:
        data = (ImatrixData * (len(imatrix) + 1))()
        for i, (name, values) in enumerate(imatrix.items()):
            data[i] = ImatrixData(name.encode(), values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), len(values))
        params.imatrix = ctypes.cast(data, ctypes.c_void_p)
    return llama.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(params)) == 0


def types_of(source, target, ftype, imatrix, layers, of_none, of_each):
    """Types by name or pattern: one for all layers, or `TYPE*LAYERS TYPE*LAYERS …`."""
    if not quantize(source, target, ftype, imatrix):
        return None
    types = {t.name: t.tensor_type.name.lower().replace("_k", "_K") for t in gguf.GGUFReader(target).tensors}
    found = {tensor: types[tensor] for tensor, _ in of_none}
    for pattern, _ in of_each:
        runs = [(one, len(list(run))) for one, run in itertools.groupby(types[pattern.format(layer)] for layer in range(layers))]
        found[pattern] = " ".join(f"{one}*{count}" for one, count in runs)
    return found


fixture = []
with tempfile.TemporaryDirectory() as temporary:
    source, target = Path(temporary) / "in.gguf", Path(temporary) / "out.gguf"
    for name, architecture, layers, heads, kv_heads, expert_count, of_none, of_each in models:
        tensors = of_none + [(pattern.format(layer), shape) for layer in range(layers) for pattern, shape in of_each]
        write(source, architecture, layers, heads, kv_heads, expert_count, tensors)
        imatrix = {tensor: np.ones(shape[-1] * (shape[0] if len(shape) == 3 else 1), np.float32) for tensor, shape in tensors}
        mixes = {recipe: {} for recipe in recipes}
        for recipe, ftype in recipes.items():
            plain, weighted = (types_of(source, target, ftype, given, layers, of_none, of_each) for given in (None, imatrix))
            # None where llama.cpp refuses to do without an imatrix.
            mixes[recipe] = {"plain": plain, "imatrix": "the same" if weighted == plain else weighted}
        fixture.append({"name": name, "architecture": architecture, "layers": layers, "headsPerKv": heads // kv_heads,
                        "experts": expert_count, "ofNone": of_none, "ofEach": of_each, "mixes": mixes})
path = Path(__file__).parent.parent / "test" / "fixtures" / "mixes.json"
path.write_text(json.dumps(fixture, separators=(",", ":")) + "\n")
print(path, path.stat().st_size, "bytes;", sum(mix["plain"] is None for model in fixture for mix in model["mixes"].values()), "refused")
