"""Writes test/fixtures/heads/<case>.json: models that draft tokens for another model by its hidden states, and what llama.cpp computes with them.

LLAMA_BINS=… python3 scripts/head_goldens.py [case …], with the library of family_goldens.py, which also says what weights are. Those of a head are
of the names with "draft." before them. A golden has the logits of every position of a text, and of the tokens that the head then drafts one by one.
"""

import ctypes as C
import json
import pathlib
import struct
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from family_cases import EXPERTS, Case, kind, named
from family_goldens import Library, compact, declare, encode

OUT = pathlib.Path(__file__).parent.parent / "test/fixtures/heads"
STEPS = 4
"""Stands for a token that is not known."""
MASK = 4


@dataclass
class Head:
    name: str
    family: str
    target: Case
    """Keys without the architecture's name, and shapes of tensors."""
    keys: dict
    tensors: dict

    def metadata(self):
        own = [(f"{self.family}.{key}", kind(value), value) for key, value in self.keys.items()]
        mask = [("tokenizer.ggml.mask_token_id", "u32", MASK)] if self.family == "dflash" else []
        return [("general.architecture", "string", self.family), *own, ("tokenizer.ggml.model", "string", "no_vocab"), *mask]


def eagle3(name, target, layers, tensors=(), width=32, keys=()):
    """The draft's width may differ from the model's. `tensors` come besides those of every file."""
    heads, kv_heads, size, inner = 4, 2, 8, 48
    block = {
        "attn_norm": [width],
        "attn_norm_2": [width],
        "attn_q": [heads * size, 2 * width],
        "attn_k": [kv_heads * size, 2 * width],
        "attn_v": [kv_heads * size, 2 * width],
        "attn_output": [width, heads * size],
        "ffn_norm": [width],
        "ffn_gate": [inner, width],
        "ffn_up": [inner, width],
        "ffn_down": [width, inner],
    }
    return Head(
        name,
        "eagle3",
        target,
        {
            "vocab_size": 40,
            "context_length": 64,
            "embedding_length": width,
            "block_count": 1,
            "feed_forward_length": inner,
            "attention.head_count": heads,
            "attention.head_count_kv": kv_heads,
            "attention.key_length": size,
            "attention.value_length": size,
            "attention.layer_norm_rms_epsilon": 1e-5,
            "rope.dimension_count": size,
            "target_layers": layers,
            "target_hidden_size": target.width,
            **dict(keys),
        },
        {
            "fc.weight": [width, 3 * target.width],
            "output_norm.weight": [width],
            **{f"blk.0.{name}.weight": shape for name, shape in block.items()},
            **dict(tensors),
        },
    )


def gemma4_assistant(name, target):
    """Layers that attend to keys and values of the model's last layer, or of the one before it where they have a window."""
    width, heads, inner = 24, 4, 40
    sizes = [6, 8]
    layers = {
        f"blk.{i}.{name}.weight": shape
        for i, size in enumerate(sizes)
        for name, shape in {
            "attn_norm": [width],
            "attn_q": [heads * size, width],
            "attn_q_norm": [size],
            "attn_output": [width, heads * size],
            "post_attention_norm": [width],
            "layer_output_scale": [1],
            "ffn_norm": [width],
            "ffn_gate": [inner, width],
            "ffn_up": [inner, width],
            "ffn_down": [width, inner],
            "post_ffw_norm": [width],
        }.items()
    }
    keys = {
        "vocab_size": 40,
        "context_length": 64,
        "embedding_length": width,
        "embedding_length_out": target.width,
        "block_count": len(sizes),
        "nextn_predict_layers": len(sizes),
        "feed_forward_length": inner,
        "attention.head_count": heads,
        "attention.head_count_kv": 2,
        "attention.key_length": 8,
        "attention.value_length": 8,
        "attention.key_length_swa": 6,
        "attention.value_length_swa": 6,
        "attention.sliding_window": 4,
        "attention.sliding_window_pattern": [True, False],
        "attention.shared_kv_layers": len(sizes),
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 1000000.0,
        "rope.freq_base_swa": 5000.0,
        "rope.dimension_count": 8,
        "rope.dimension_count_swa": 6,
    }
    tensors = {
        "token_embd.weight": [40, width],
        "output_norm.weight": [width],
        "rope_freqs.weight": [4],
        "nextn.pre_projection.weight": [width, 2 * target.width],
        "nextn.post_projection.weight": [target.width, width],
        **layers,
    }
    return Head(name, "gemma4-assistant", target, keys, tensors)


def dflash(name, target, layers, keys=(), tensors=(), without=()):
    """Two layers. `tensors` come besides those of every file, with `*` for every layer."""
    width, heads, kv_heads, size, inner = target.width, 4, 2, 10, 40
    block = {
        "attn_norm": [width],
        "attn_q": [heads * size, width],
        "attn_k": [kv_heads * size, width],
        "attn_v": [kv_heads * size, width],
        "attn_output": [width, heads * size],
        "attn_q_norm": [size],
        "attn_k_norm": [size],
        "ffn_norm": [width],
        "ffn_gate": [inner, width],
        "ffn_up": [inner, width],
        "ffn_down": [width, inner],
    }
    all_tensors = {
        "fc.weight": [width, len(layers) * width],
        "enc.output_norm.weight": [width],
        "output_norm.weight": [width],
        **{f"blk.*.{name}.weight": shape for name, shape in block.items()},
        **dict(tensors),
    }
    return Head(
        name,
        "dflash",
        target,
        {
            "vocab_size": 40,
            "context_length": 64,
            "embedding_length": width,
            "block_count": 2,
            "feed_forward_length": inner,
            "attention.head_count": heads,
            "attention.head_count_kv": kv_heads,
            "attention.key_length": size,
            "attention.value_length": size,
            "attention.layer_norm_rms_epsilon": 1e-4,
            "rope.dimension_count": size,
            "block_size": 8,
            "target_layers": layers,
            **dict(keys),
        },
        {
            name.replace("*", str(i)): shape
            for name, shape in all_tensors.items()
            if not any(part in name for part in without)
            for i in (range(2) if "*" in name else [0])
        },
    )


LLAMA = Case("llama", "llama", {}, layers=4)
GPT_OSS = Case("gpt-oss", "gpt-oss", {**EXPERTS, "attention.sliding_window": 8, "attention.key_length": 16, "attention.value_length": 16}, layers=3)
CASES = [
    eagle3("eagle3", LLAMA, [1, 2, 3]),
    eagle3(
        "eagle3-vocabulary",
        GPT_OSS,
        [0, 2, 3],
        width=24,
        keys={"norm_before_residual": True, "norm_before_fc": True, "rope.freq_base": 500.0},
        tensors={
            "token_embd.weight": [40, 24],
            "enc.output_norm.weight": [96],
            "d2t": [24],
            "output.weight": [24, 24],
            "rope_freqs.weight": [4],
        },
    ),
    gemma4_assistant("gemma4-assistant", named["gemma4"]),
    dflash("dflash", LLAMA, [0, 2, 3], tensors={"blk.*.attn_sinks.weight": [4]}),
    dflash(
        "dflash-shared-values",
        GPT_OSS,
        [1, 2],
        keys={
            "embedding_scale": 2.5,
            "attention.scale": 0.4,
            "hidden_activation": "gelu_pytorch_tanh",
            "attention.causal": True,
            "attention.sliding_window": 7,
            "attention.sliding_window_pattern": [False, True],
            "rope.dimension_sections": [5, 0, 0, 0],
        },
        tensors={
            "token_embd.weight": [40, 32],
            "blk.*.post_attention_norm.weight": [32],
            "blk.*.post_ffw_norm.weight": [32],
            "blk.*.layer_output_scale.weight": [1],
        },
        without=["attn_v"],
    ),
    dflash(
        "dspark",
        LLAMA,
        [1, 3],
        keys={"attention.sliding_window": 9, "attention.sliding_window_pattern": [True, False], "rope.freq_base": 500.0},
        tensors={
            "rope_freqs.weight": [5],
            "d2t": [24],
            "output.weight": [24, 32],
            "markov_w1.weight": [40, 6],
            "markov_w2.weight": [24, 6],
            "conf_proj.weight": [1, 38],
        },
    ),
    dflash(
        "dspark-after-anchor",
        LLAMA,
        [1],
        keys={"sample_from_anchor": False},
        tensors={"markov_w1.weight": [40, 6], "markov_w2.weight": [40, 6]},
    ),
]


class Heads(Library):
    def __init__(self):
        super().__init__()
        llama, pointer = self.llama, C.c_void_p
        floats = C.POINTER(C.c_float)
        # Functions without C linkage.
        self.keep_inputs = declare(llama, "_Z30llama_set_embeddings_layer_inpP13llama_contextjb", None, pointer, C.c_uint32, C.c_bool)
        self.kept_inputs = declare(llama, "_Z30llama_get_embeddings_layer_inpP13llama_contextj", floats, pointer, C.c_uint32)
        self.set_causal = declare(llama, "llama_set_causal_attn", None, pointer, C.c_bool)
        self.kept_states = declare(llama, "_Z26llama_get_embeddings_nextnP13llama_context", floats, pointer)

    def open(self, model, other=None):
        params = self.context_params()
        struct.pack_into("<III", params.bytes, 0, 256, 256, 256)
        struct.pack_into("<ii", params.bytes, 28, 1, 1)
        struct.pack_into("<i", params.bytes, 52, 0)  # no flash attention
        struct.pack_into("<ii", params.bytes, 104, 0, 0)  # f32 cache
        struct.pack_into("<Q", params.bytes, 152, other or 0)
        return self.context(model, params)

    def check(self, code):
        if code != 0:
            raise SystemExit("llama.cpp: " + "".join(self.log).strip().splitlines()[-1])

    def rows(self, values, count, width):
        return np.array(np.ctypeslib.as_array(values, (count, width)), dtype=np.float32)

    def features(self, context, case, ids):
        """States of a text's tokens before layers, side by side; the number of layers stands for what the last one returns."""
        layers = case.keys["target_layers"]
        for layer in layers:
            if layer < case.target.layers:
                self.keep_inputs(context, layer, True)
            else:
                self.keep_states(context, True, False)
        self.check(self.decode(context, self.tokens(ids)))
        parts = [self.kept_inputs(context, layer) if layer < case.target.layers else self.kept_states(context) for layer in layers]
        return np.concatenate([self.rows(part, len(ids), case.target.width) for part in parts], axis=1)

    def states(self, features):
        """A batch of states alone."""
        batch = self.batch(len(features), features.shape[1], 1)
        batch.n = len(features)
        C.memmove(batch.embd, np.ascontiguousarray(features).ctypes.data, features.nbytes)
        for i in range(len(features)):
            batch.pos[i], batch.n_seq_id[i], batch.logits[i] = i, 1, 1
            batch.seq_id[i][0] = 0
        return batch

    def logits_of(self, context, model, count):
        width = self.vocab_size(self.vocab(model))
        return np.array([self.logits(context, i)[:width] for i in range(count)], dtype=np.float32)

    def eagle3(self, target, head, case, ids):
        model = self.open(target)
        features = self.features(model, case, ids)
        draft = self.open(head, model)
        self.keep_states(draft, True, True)
        self.check(self.read(draft, self.states(features)))
        width = case.keys["embedding_length"]
        states = self.rows(self.kept_states(draft), len(ids), width)[: len(ids) - 1]

        def run(tokens, states, start):
            batch = self.tokens(tokens)
            batch.embd = np.ascontiguousarray(states).ctypes.data
            for i in range(len(tokens)):
                batch.pos[i] = start + i
            self.check(self.decode(draft, batch))
            return self.logits_of(draft, head, len(tokens))

        logits = run(ids[1:], states, 0)
        drafted, steps = [], [logits[-1]]
        for step in range(STEPS):
            last = np.array([self.kept_state(draft, len(ids) - 2 if step == 0 else 0)[:width]], dtype=np.float32)
            drafted.append(int(steps[-1].argmax()))
            steps.append(run(drafted[-1:], last, len(ids) - 1 + step)[0])
        return {"logits": encode(logits), "drafted": drafted, "draftedLogits": encode(np.array(steps[1:]))}

    def dflash(self, target, head, case, ids):
        model = self.open(target)
        features = self.features(model, case, ids[:-1])
        draft = self.open(head, model)
        self.keep_states(draft, True, True)
        self.set_causal(draft, case.keys.get("attention.causal", False))
        self.check(self.decode(draft, self.states(features)))
        batch = self.tokens([ids[-1]] + [MASK] * (case.keys["block_size"] - 1))
        for i in range(batch.n):
            batch.pos[i] = len(ids) - 1 + i
        self.check(self.decode(draft, batch))
        logits = self.logits_of(draft, head, batch.n)
        first = int("markov_w1.weight" not in case.tensors or not case.keys.get("sample_from_anchor", True))
        return {"logits": encode(logits), "drafted": [int(row.argmax()) for row in logits[first:]], "draftedLogits": ""}

    def gemma4_assistant(self, target, head, case, ids):
        model = self.open(target)
        # A context that shares the cells of another one empties them when it is opened.
        draft = self.open(head, model)
        self.keep_states(model, True, False)
        self.keep_states(draft, True, True)
        self.check(self.decode(model, self.tokens(ids[:-1])))
        width = case.target.width
        state = self.rows(self.kept_states(model), len(ids) - 1, width)[-1:]
        drafted, steps = [], []
        for _ in range(STEPS + 1):
            batch = self.tokens([drafted[-1] if drafted else ids[-1]])
            batch.embd = np.ascontiguousarray(state).ctypes.data
            # All tokens of a draft have the position of the first one.
            batch.pos[0] = len(ids) - 1
            self.check(self.decode(draft, batch))
            steps.append(self.logits_of(draft, head, 1)[0])
            state = np.array([self.kept_state(draft, 0)[:width]], dtype=np.float32)
            drafted.append(int(steps[-1].argmax()))
        return {"logits": encode(steps[0]), "drafted": drafted[:-1], "draftedLogits": encode(np.array(steps[1:]))}


def write(case):
    library = Heads()
    entries = case.target.metadata()
    target, shapes = library.full(entries, case.target.optional, case.target.candidates)
    head = library.stored(case.metadata(), case.tensors, "draft.")
    if not head:
        library.check(1)
    ids = case.target.ids
    golden = {
        "oracle": f"llama.cpp {library.version}, as shipped by node-llama-cpp 3.22.1",
        "target": {"metadata": entries, "tensors": compact(shapes, case.target.layers)},
        "metadata": case.metadata(),
        "tensors": case.tensors,
        "ids": ids,
        **getattr(library, case.family.replace("-", "_"))(target, head, case, ids),
    }
    lines = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in golden.items())
    OUT.mkdir(exist_ok=True)
    (OUT / f"{case.name}.json").write_text("{\n" + lines + "\n}\n")
    print(f"{case.name}: {golden['drafted']}")


if __name__ == "__main__":
    wanted = sys.argv[1:] or [case.name for case in CASES]
    if len(wanted) == 1:
        write(next(case for case in CASES if case.name == wanted[0]))
    else:
        # A failed assertion in the library ends its process.
        for name in wanted:
            subprocess.run([sys.executable, __file__, name], check=False)
