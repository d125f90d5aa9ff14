"""Writes test/fixtures/families/<case>.json: tiny models that llama.cpp itself lays out, and what it computes with them.

llama.cpp's library is the one that node-llama-cpp ships: `pnpm bench peers install`, then
LLAMA_BINS=<node_modules>/@node-llama-cpp/linux-x64/bins/linux-x64 python3 scripts/family_goldens.py [case …]

A model is made from metadata alone: the library asks for the weights that the family has, by name and shape, and gets numbers from a
counter that familyFixture.ts repeats. So the goldens hold no weights. Logits are of every position, with an f32 cache.
"""

import base64
import ctypes as C
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

from family_cases import CASES, EXPERTS

OUT = pathlib.Path(__file__).parent.parent / "test/fixtures/families"
BINS = os.environ.get("LLAMA_BINS", "")
SUFFIX = ".v0.5.0.so"
"""LLAMA_POOLING_TYPE_RANK."""
RANK = 4
GGML_F32, GGML_I32, GGML_I64 = 0, 26, 27
TEXT = 10


class ModelParams(C.Structure):
    _fields_ = [("bytes", C.c_uint8 * 80)]


class ContextParams(C.Structure):
    """Offsets below are those of this version."""

    _fields_ = [("bytes", C.c_uint8 * 160)]


class GgmlParams(C.Structure):
    _fields_ = [("size", C.c_size_t), ("buffer", C.c_void_p), ("no_alloc", C.c_bool)]


class Batch(C.Structure):
    _fields_ = [
        ("n", C.c_int32),
        ("token", C.POINTER(C.c_int32)),
        ("embd", C.c_void_p),
        ("pos", C.POINTER(C.c_int32)),
        ("n_seq_id", C.POINTER(C.c_int32)),
        ("seq_id", C.POINTER(C.POINTER(C.c_int32))),
        ("logits", C.POINTER(C.c_int8)),
    ]


SET_TENSOR = C.CFUNCTYPE(None, C.c_void_p, C.c_void_p)
LOG = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


class Library:
    def __init__(self, cpu=None):
        """cpu: the build for processors that computes ("x64", "haswell", …); llama.cpp chooses one for this machine where none is named."""
        ggml = C.CDLL(f"{BINS}/libggml-base.so", mode=C.RTLD_GLOBAL)
        backends = C.CDLL(f"{BINS}/libggml{SUFFIX}", mode=C.RTLD_GLOBAL)
        llama = C.CDLL(f"{BINS}/libllama{SUFFIX}", mode=C.RTLD_GLOBAL)
        self.llama = llama
        """Handles, count and scales, as llama_set_adapters_lora wants them."""
        self.adapters = None
        self.log = []
        self.on_log = LOG(lambda _level, text, _data: self.log.append(text.decode(errors="replace")))
        llama.llama_log_set(self.on_log, None)
        if cpu is None:
            declare(backends, "ggml_backend_load_all_from_path", None, C.c_char_p)(BINS.encode())
        else:
            declare(backends, "ggml_backend_load", C.c_void_p, C.c_char_p)(f"{BINS}/libggml-cpu-{cpu}.so".encode())
        self.version = declare(llama, "llama_version", C.c_char_p)().decode()
        pointer, text = C.c_void_p, C.c_char_p
        self.gguf = {
            "empty": declare(ggml, "gguf_init_empty", pointer),
            "u32": declare(ggml, "gguf_set_val_u32", None, pointer, text, C.c_uint32),
            "f32": declare(ggml, "gguf_set_val_f32", None, pointer, text, C.c_float),
            "bool": declare(ggml, "gguf_set_val_bool", None, pointer, text, C.c_bool),
            "string": declare(ggml, "gguf_set_val_str", None, pointer, text, text),
            "numbers": declare(ggml, "gguf_set_arr_data", None, pointer, text, C.c_int, pointer, C.c_size_t),
            "strings": declare(ggml, "gguf_set_arr_str", None, pointer, text, C.POINTER(text), C.c_size_t),
            "tensor": declare(ggml, "gguf_add_tensor", None, pointer, pointer),
            "write": declare(ggml, "gguf_write_to_file", C.c_bool, pointer, text, C.c_bool),
        }
        self.stored_tensor = declare(ggml, "ggml_new_tensor", pointer, pointer, C.c_int, C.c_int, C.POINTER(C.c_int64))
        self.tensor_data = declare(ggml, "ggml_get_data", pointer, pointer)
        self.ggml_init = declare(ggml, "ggml_init", pointer, GgmlParams)
        self.ggml_free = declare(ggml, "ggml_free", None, pointer)
        self.new_tensor = declare(ggml, "ggml_new_tensor_1d", pointer, pointer, C.c_int, C.c_int64)
        self.set_name = declare(ggml, "ggml_set_name", pointer, pointer, text)
        self.get_name = declare(ggml, "ggml_get_name", text, pointer)
        self.tensor_set = declare(ggml, "ggml_backend_tensor_set", None, pointer, pointer, C.c_size_t, C.c_size_t)
        self.model_params = declare(llama, "llama_model_default_params", ModelParams)
        self.context_params = declare(llama, "llama_context_default_params", ContextParams)
        self.from_user = declare(llama, "llama_model_init_from_user", pointer, pointer, SET_TENSOR, pointer, ModelParams)
        self.from_file = declare(llama, "llama_model_load_from_file", pointer, text, ModelParams)
        self.save = declare(llama, "llama_model_save_to_file", None, pointer, text)
        self.free = declare(llama, "llama_model_free", None, pointer)
        self.context = declare(llama, "llama_init_from_model", pointer, pointer, ContextParams)
        self.set_adapters = declare(llama, "llama_set_adapters_lora", C.c_int, pointer, pointer, C.c_size_t, C.POINTER(C.c_float))
        self.read = declare(llama, "llama_encode", C.c_int, pointer, Batch)
        self.decode = declare(llama, "llama_decode", C.c_int, pointer, Batch)
        # Functions without C linkage.
        self.keep_states = declare(llama, "_Z26llama_set_embeddings_nextnP13llama_contextbb", None, pointer, C.c_bool, C.c_bool)
        self.kept_state = declare(llama, "_Z30llama_get_embeddings_nextn_ithP13llama_contexti", C.POINTER(C.c_float), pointer, C.c_int32)
        self.batch = declare(llama, "llama_batch_init", Batch, C.c_int32, C.c_int32, C.c_int32)
        self.vocab = declare(llama, "llama_model_get_vocab", pointer, pointer)
        self.vocab_size = declare(llama, "llama_vocab_n_tokens", C.c_int32, pointer)
        self.width = declare(llama, "llama_model_n_embd", C.c_int32, pointer)
        self.state_width = declare(llama, "llama_model_n_embd_out", C.c_int32, pointer)
        self.logits = declare(llama, "llama_get_logits_ith", C.POINTER(C.c_float), pointer, C.c_int32)
        self.embeddings = declare(llama, "llama_get_embeddings_ith", C.POINTER(C.c_float), pointer, C.c_int32)
        self.pooled = declare(llama, "llama_get_embeddings_seq", C.POINTER(C.c_float), pointer, C.c_int32)
        self.labels = declare(llama, "llama_model_n_cls_out", C.c_uint32, pointer)
        self.template = declare(llama, "llama_model_chat_template", text, pointer, text)
        self.tokenize = declare(llama, "llama_tokenize", C.c_int32, pointer, text, C.c_int32, C.POINTER(C.c_int32), C.c_int32, C.c_bool, C.c_bool)
        self.special = {name: declare(llama, f"llama_vocab_{name}", C.c_int32, pointer) for name in ("bos", "eos", "sep")}
        self.adds = {name: declare(llama, f"llama_vocab_get_add_{name}", C.c_bool, pointer) for name in ("bos", "eos", "sep")}

    def metadata(self, entries):
        gguf = self.gguf["empty"]()
        for key, kind, value in entries:
            name = key.encode()
            if kind == "string":
                self.gguf[kind](gguf, name, value.encode())
            elif kind == "strings":
                self.gguf[kind](gguf, name, (C.c_char_p * len(value))(*[text.encode() for text in value]), len(value))
            elif kind in ("u32[]", "i32[]", "f32[]", "bool[]", "u64[]"):
                element, code = {"u64[]": (C.c_uint64, 10), "u32[]": (C.c_uint32, 4), "i32[]": (C.c_int32, 5), "f32[]": (C.c_float, 6), "bool[]": (C.c_bool, 7)}[kind]
                self.gguf["numbers"](gguf, name, code, (element * len(value))(*value), len(value))
            else:
                self.gguf[kind](gguf, name, value)
        return gguf

    def model(self, entries, optional):
        """The model, and the shapes of its tensors. The library wants as many tensors named as it makes: it says how many."""
        extra = 0
        for _attempt in range(4):
            model, shapes, missing = self.attempt(entries, optional, extra)
            if model:
                return model, shapes, extra
            if not missing or missing < -extra:
                break
            extra += missing
        raise SystemExit("llama.cpp: " + "".join(self.log).strip().splitlines()[-2])

    def full(self, entries, optional, candidates):
        """The same with all of the candidates that it takes, each a list of names that go together."""
        model, shapes, extra = self.model(entries, optional)
        for names in candidates:
            if any(name in shapes or name in optional for name in names):
                continue
            more, with_more, _ = self.attempt(entries, [*optional, *names], extra)
            if more:
                self.free(model)
                model, shapes, optional = more, with_more, [*optional, *names]
        return model, shapes

    def attempt(self, entries, optional, extra):
        """A model with these tensors named and others besides; else how many names more it wants."""
        shapes = {}

        def fill(tensor, _data):
            name = self.get_name(tensor).decode()
            extents = [n for n in struct.unpack("<4q", C.string_at(tensor + 16, 32))]
            while len(extents) > 1 and extents[-1] == 1:
                extents.pop()
            shapes[name] = extents[::-1]
            data = weights(name, shapes[name])
            self.tensor_set(tensor, data.ctypes.data, 0, data.nbytes)

        self.on_fill = SET_TENSOR(fill)
        room = self.ggml_init(GgmlParams(1 << 20, None, True))
        gguf = self.metadata(entries)
        for name in [*optional, *[f"unnamed.{i}" for i in range(extra)]]:
            tensor = self.new_tensor(room, 0, 1)
            self.set_name(tensor, name.encode())
            self.gguf["tensor"](gguf, tensor)
        self.log.clear()
        model = self.from_user(gguf, self.on_fill, None, self.whole_model())
        self.ggml_free(room)
        counts = re.search(r"expected (\d+), got (\d+)", "".join(self.log))
        return model, shapes, counts and int(counts[2]) - int(counts[1])

    def whole_model(self):
        """Options to load a model with its blocks that predict further tokens."""
        params = self.model_params()
        params.bytes[77] = 1
        return params

    def stored(self, entries, shapes, prefix=""):
        """The model of a file with this metadata and these tensors, whose weights are those of the names with the prefix."""
        room = self.ggml_init(GgmlParams(1 << 24, None, False))
        gguf = self.metadata(entries)
        for name, shape in shapes.items():
            data = weights(prefix + name, shape)
            kind = {"int32": GGML_I32, "int64": GGML_I64}.get(data.dtype.name, GGML_F32)
            tensor = self.stored_tensor(room, kind, len(shape), (C.c_int64 * len(shape))(*shape[::-1]))
            self.set_name(tensor, name.encode())
            C.memmove(self.tensor_data(tensor), data.ctypes.data, data.nbytes)
            self.gguf["tensor"](gguf, tensor)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/model.gguf".encode()
            self.gguf["write"](gguf, path, False)
            model = self.from_file(path, self.whole_model())
        self.ggml_free(room)
        return model

    def translate(self, model, ids, text):
        """Logits of a decoder's text after an encoder has read ids."""
        params = self.context_params()
        struct.pack_into("<III", params.bytes, 0, 256, 256, 256)
        struct.pack_into("<ii", params.bytes, 28, 1, 1)
        struct.pack_into("<i", params.bytes, 52, 0)  # no flash attention
        struct.pack_into("<ii", params.bytes, 104, 0, 0)  # f32 cache
        context = self.context(model, params)
        if self.read(context, self.tokens(ids)) != 0 or self.decode(context, self.tokens(text)) != 0:
            raise SystemExit("llama.cpp: encode or decode failed")
        width = self.vocab_size(self.vocab(model))
        return np.array([self.logits(context, i)[:width] for i in range(len(text))], dtype=np.float32)

    def tokens(self, ids):
        """A batch of one sequence, all of whose tokens are output rows."""
        batch = self.batch(len(ids), 0, 1)
        batch.n = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
            batch.seq_id[i][0] = 0
        return batch

    def run(self, model, ids, pooling, fused=False):
        n = len(ids)
        params = self.context_params()
        struct.pack_into("<III", params.bytes, 0, 256, 256, 256)
        struct.pack_into("<ii", params.bytes, 28, 1, 1)
        struct.pack_into("<i", params.bytes, 52, int(fused))  # flash attention
        struct.pack_into("<ii", params.bytes, 104, 0, 0)  # f32 cache
        if pooling is not None:
            struct.pack_into("<i", params.bytes, 44, pooling)
            params.bytes[128] = 1
        context = self.context(model, params)
        if self.adapters is not None and self.set_adapters(context, *self.adapters) != 0:
            raise SystemExit("llama.cpp: adapters are refused")
        if self.decode(context, self.tokens(ids)) != 0:
            raise SystemExit("llama.cpp: decode failed")
        if pooling is None:
            width = self.vocab_size(self.vocab(model))
            return np.array([self.logits(context, i)[:width] for i in range(n)], dtype=np.float32)
        width = self.labels(model) if pooling == RANK else self.width(model)
        if pooling == 0:
            return np.array([self.embeddings(context, i)[:width] for i in range(n)], dtype=np.float32)
        return np.array(self.pooled(context, 0)[:width], dtype=np.float32)

    def predict(self, model, ids):
        """Logits of the block that predicts the token after the next one, for all ids but the last."""
        contexts = []
        for kind in (0, 1):
            params = self.context_params()
            struct.pack_into("<III", params.bytes, 0, 256, 256, 256)
            struct.pack_into("<iii", params.bytes, 28, 1, 1, kind)
            struct.pack_into("<i", params.bytes, 52, 0)  # no flash attention
            struct.pack_into("<ii", params.bytes, 104, 0, 0)  # f32 cache
            contexts.append(self.context(model, params))
        self.keep_states(contexts[0], True, False)
        if self.decode(contexts[0], self.tokens(ids)) != 0:
            raise SystemExit("llama.cpp: decode failed")
        width = self.state_width(model)
        states = np.array([self.kept_state(contexts[0], i)[:width] for i in range(len(ids) - 1)], dtype=np.float32)
        batch = self.tokens(ids[1:])
        batch.embd = states.ctypes.data
        if self.decode(contexts[1], batch) != 0:
            raise SystemExit("llama.cpp: decode failed")
        vocabulary = self.vocab_size(self.vocab(model))
        return np.array([self.logits(contexts[1], i)[:vocabulary] for i in range(len(ids) - 1)], dtype=np.float32)

    def encode(self, model, text, parse_special):
        ids = (C.c_int32 * 256)()
        count = self.tokenize(self.vocab(model), text.encode(), len(text.encode()), ids, len(ids), False, parse_special)
        return ids[:count]

    def pair(self, model, query, document):
        """Ids of a query and a document, as format_prompt_rerank of llama-server builds them."""
        template = self.template(model, b"rerank")
        if template is not None:
            return self.encode(model, template.decode().replace("{query}", query).replace("{document}", document), True)
        vocab = self.vocab(model)
        eos = self.special["eos"](vocab)
        end = {"bos": self.special["bos"](vocab), "eos": self.special["sep"](vocab) if eos == -1 else eos, "sep": self.special["sep"](vocab)}
        added = {name: [end[name]] if add(vocab) else [] for name, add in self.adds.items()}
        texts = [self.encode(model, text, False) for text in (query, document)]
        return [*added["bos"], *texts[0], *added["eos"], *added["sep"], *texts[1], *added["eos"]]


def uniform(name, count):
    """Numbers from -1 to 1: FNV-1a of the name, then mulberry32."""
    seed = 0x811C9DC5
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x01000193) & 0xFFFFFFFF
    state = np.arange(1, count + 1, dtype=np.uint64) * 0x6D2B79F5 + seed
    mask = np.uint64(0xFFFFFFFF)
    state &= mask

    def multiply(a, b):
        return (a * b) & mask

    t = multiply(state ^ (state >> np.uint64(15)), state | np.uint64(1))
    t ^= (t + multiply(t ^ (t >> np.uint64(7)), t | np.uint64(61))) & mask
    return ((t ^ (t >> np.uint64(14))) & mask).astype(np.float64) / 2**31 - 1


def weights(name, shape):
    """As familyFixture.ts: factors about 1, decays below 0, matrices that keep the size of what they multiply."""
    u = uniform(name, int(np.prod(shape)))
    if name.endswith("tid2eid.weight"):
        return np.floor((u + 1) * EXPERTS["expert_count"] / 2).astype(np.int32)
    if name.endswith("d2t"):
        return np.arange(len(u), dtype=np.int64)[::-1] * 3 // 2 + 1
    if name.endswith("ssm_a"):
        values = -1 - 0.5 * u
    elif name.endswith(("norm.weight", "norm_2.weight", ".scale", "ssm_d", "rope_freqs.weight", "output_scale.weight")):
        values = 1 + 0.25 * u
    elif name.endswith("token_embd.weight"):
        values = u
    elif len(shape) == 1:
        values = 0.25 * u
    else:
        values = u * np.sqrt(3 / shape[-1])
    return np.ascontiguousarray(values, dtype=np.float32)


def compact(shapes, layers):
    """Tensors that every layer has, once."""
    compacted = {}
    for name, shape in shapes.items():
        every = re.sub(r"^blk\.\d+\.", "blk.*.", name)
        same = [shapes.get(every.replace("*", str(layer), 1)) == shape for layer in range(layers)]
        compacted[every if all(same) else name] = shape
    return compacted


def visible(logits, hidden):
    """Columns of logits that are not hidden. The library hides them in the first row of a batch alone, which is all that a text has while it grows."""
    if hidden is None:
        return logits
    if not (logits[0, slice(*hidden)] == np.finfo(np.float32).min).all():
        raise SystemExit("llama.cpp: logits are not hidden")
    return np.delete(logits, slice(*hidden), axis=1)


def encode(values):
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


NEXTN = ["eh_proj", "enorm", "hnorm", "shared_head_norm"]


def names_of(case):
    """Names of the tensors of a model with a block that predicts further tokens, of which the library makes only those that are named."""
    like, *parts = case.nextn
    block = f"blk.{case.layers - 1}."
    known = json.loads((OUT / f"{like}.json").read_text())["tensors"]
    names = [name.replace("*", str(i)) for name in known for i in range(case.layers)]
    layers = [f"blk.{part}." for part in parts if isinstance(part, int)]
    own = [block + name[len(layer):] for layer in layers for name in names if name.startswith(layer)]
    own += [block + name for part in parts if isinstance(part, list) for name in part]
    own += [f"{block}nextn.{name}.weight" for name in NEXTN]
    rest = [name for name in names if not name.startswith(block)]
    return [name for name in dict.fromkeys([*rest, *own]) if not name.endswith(case.nextn_lacks or "/")]


def write(case):
    library = Library()
    entries = case.metadata()
    model, shapes = library.full(entries, names_of(case) if case.nextn and not case.stored else case.optional, case.candidates)
    if case.stored:
        own = {f"{case.family}.{key}": value for key, value in case.stored["metadata"].items()}
        entries = [(key, kind, own.get(key, value)) for key, kind, value in entries]
        kept = {name: shape for name, shape in shapes.items() if name not in case.stored["without"]} | case.stored["tensors"]
        shapes = {name: [shape[0] * shape[1], shape[2]] if name.endswith(case.stored["merged"]) else shape for name, shape in kept.items()}
        model = library.stored(entries, shapes)
    ids = case.ids
    outputs = {"tokens": 0, "mean": 1, "cls": 2, "last": 3} if case.pooled else {} if case.ranked or case.start >= 0 else {"logits": None}
    text = [case.start]
    for _ in range(TEXT if case.start >= 0 else 0):
        text.append(int(library.translate(model, ids, text)[-1].argmax()))
    pairs = [library.pair(model, case.ranked["query"], document) for document in case.ranked["documents"]] if case.ranked else []
    golden = {
        "oracle": f"llama.cpp {library.version}, as shipped by node-llama-cpp 3.22.1",
        **({"tolerance": case.tolerance} if case.tolerance else {}),
        "metadata": entries,
        "tensors": compact(shapes, case.layers),
        "ids": ids,
        **({"hidden": case.hidden} if case.hidden else {}),
        **({"rows": case.rows} if case.rows else {}),
        **{name: encode(visible(library.run(model, ids, pooling, case.fused), case.hidden)[case.rows or slice(None)]) for name, pooling in outputs.items()},
        **({"nextn": encode(library.predict(model, ids)[case.nextn_from :])} if case.nextn else {}),
        **({"ranked": {**case.ranked, "ids": pairs, "scores": [float(library.run(model, pair, RANK)[0]) for pair in pairs]}} if case.ranked else {}),
        **({"text": text, "textLogits": encode(library.translate(model, ids, text[:-1]))} if case.start >= 0 else {}),
    }
    lines = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in golden.items())
    OUT.mkdir(exist_ok=True)
    (OUT / f"{case.name}.json").write_text("{\n" + lines + "\n}\n")
    print(f"{case.name}: {len(shapes)} tensors")


if __name__ == "__main__":
    wanted = sys.argv[1:] or [case.name for case in CASES]
    if len(wanted) == 1:
        write(next(case for case in CASES if case.name == wanted[0]))
    else:
        # A failed assertion in the library ends its process.
        for name in wanted:
            subprocess.run([sys.executable, __file__, name], check=False)
