"""The models of family_goldens.py: what is peculiar to each family, at small sizes that differ from each other."""

from dataclasses import dataclass, field, replace

class Signed(list):
    pass


class Wide(list):
    pass


BIASED = ["attn_q.bias", "attn_k.bias", "attn_v.bias"]


@dataclass
class Case:
    name: str
    family: str
    extra: dict = field(default_factory=dict)
    """Names of optional tensors of every layer, or of the model where they begin with a slash."""
    tensors: list = field(default_factory=list)
    norm: str = "rms"
    layers: int = 2
    width: int = 32
    heads: object = 4
    kv_heads: object = 2
    inner: int = 48
    vocab: int = 40
    pooled: bool = False
    """A query and documents, of models that rank."""
    ranked: dict = None
    """The token that a decoder begins with after an encoder has read the ids; for models with both."""
    start: int = -1
    """Whether to take every optional tensor that the library knows for the family."""
    full: bool = False
    """Endings of names that it must not be offered."""
    without: tuple = ()
    """Relative error of logits that rounding explains, where the tests' own is too small."""
    tolerance: float = 0.0
    """Whether llama.cpp computes its fused attention, without which it leaves out some kinds of sparse attention."""
    fused: bool = False
    """What the model's file has that the library does not make from metadata: other values of keys, tensors, and names of tensors of two axes."""
    stored: dict = None
    """Number of tokens of the golden's text."""
    tokens: int = 24
    """A golden with the same layers, those of its layers that have the last block's tensors, and a list of further ones, for a model whose last block predicts further tokens. What is stored has these tensors in its own list."""
    nextn: tuple = None
    """Tensors of that golden that the model lacks, by their endings."""
    nextn_lacks: tuple = ()
    """First row of that block's logits that the library computes rightly. Default: all."""
    nextn_from: int = 0
    """Rows whose logits do not depend on an order that the library leaves open. Default: all."""
    rows: list = None
    """Tokens of which the library hides the logits, from the first one up to the one after the last."""
    hidden: tuple = None

    @property
    def ids(self):
        return [(i * 7 + 3 + i // self.vocab * i) % self.vocab for i in range(self.tokens)]

    @property
    def optional(self):
        blocks = [f"blk.{layer}.{name}" for name in self.tensors if name[0] != "/" for layer in range(self.layers)]
        return [name[1:] for name in self.tensors if name[0] == "/"] + blocks

    @property
    def candidates(self):
        if not self.full:
            return []
        rest = [name for name in OPTIONAL if not name.endswith(self.without)] if self.without else OPTIONAL
        every = [[f"blk.{layer}.{name}" for layer in range(self.layers)] for name in rest]
        single = [[name] for names in every for name in names] if self.layers < 8 else []
        return [[name] for name in GLOBAL] + every + single

    def metadata(self):
        keys = {
            "vocab_size": self.vocab,
            "context_length": 64,
            "embedding_length": self.width,
            "block_count": self.layers,
            "feed_forward_length": self.inner,
            "attention.head_count": self.heads,
            "attention.head_count_kv": self.kv_heads,
            f"attention.layer_norm_{'rms_' if self.norm == 'rms' else ''}epsilon": 1e-5,
            **self.extra,
        }
        own = [(f"{self.family}.{key}", kind(value), value) for key, value in keys.items() if value is not None and key[0] != "/"]
        tokenizer = [(key[1:], kind(value), value) for key, value in keys.items() if key[0] == "/"]
        named = any(key == "tokenizer.ggml.model" for key, _, _ in tokenizer)
        return [
            ("general.architecture", "string", self.family),
            *own,
            *([] if named else [("tokenizer.ggml.model", "string", "no_vocab")]),
            *tokenizer,
        ]


def kind(value):
    if isinstance(value, Signed):
        return "i32[]"
    if isinstance(value, Wide):
        return "u64[]"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, list):
        if isinstance(value[0], bool):
            return "bool[]"
        return "strings" if isinstance(value[0], str) else "u32[]" if isinstance(value[0], int) else "f32[]"
    return {int: "u32", float: "f32", str: "string"}[type(value)]


GLOBAL = [f"{name}.{part}" for name in ("output", "output_norm", "token_embd_norm") for part in ("weight", "bias")]
GLOBAL += ["position_embd.weight", "token_types.weight", "rope_freqs.weight", "output.scale", "output.input_scale"]
PROJECTIONS = "attn_q attn_k attn_v attn_qkv attn_output ffn_gate ffn_up ffn_down ffn_gate_exps ffn_up_exps ffn_down_exps ffn_gate_up_exps".split()
PROJECTIONS += "ffn_gate_shexp ffn_up_shexp ffn_down_shexp ffn_gate_inp ffn_gate_inp_shexp ssm_in ssm_x ssm_dt ssm_out".split()
PROJECTIONS += "attn_q_a attn_q_b attn_kv_a_mqa attn_kv_b attn_k_b attn_v_b shortconv.in_proj shortconv.out_proj".split()
PROJECTIONS += "attn_gate ssm_alpha ssm_beta".split()
OPTIONAL = [f"{name}.bias" for name in PROJECTIONS]
OPTIONAL += [f"{name}.{part}" for name in "attn_norm attn_norm_2 attn_q_norm attn_k_norm ffn_norm".split() for part in ("weight", "bias")]
OPTIONAL += "ffn_gate_exps.weight ffn.act.scales exp_probs_b.bias ssm_dt_norm.weight ssm_b_norm.weight ssm_c_norm.weight ssm_norm.weight".split()
OPTIONAL += [f"{name}.{part}" for name in PROJECTIONS for part in ("scale", "input_scale")]

EXPERTS = {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 24}
LATENT = {
    "attention.q_lora_rank": 24,
    "attention.kv_lora_rank": 16,
    "rope.dimension_count": 8,
    "expert_count": 8,
    "expert_used_count": 3,
    "expert_shared_count": 2,
    "expert_feed_forward_length": 24,
    "expert_weights_scale": 2.5,
    "expert_weights_norm": True,
    "leading_dense_block_count": 1,
}
YARN = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 16,
    "rope.scaling.yarn_log_multiplier": 0.0707,
}
WORDS = {
    "/tokenizer.ggml.model": "bert",
    "/tokenizer.ggml.tokens": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"\u2581w{i}" for i in range(35)],
    "/tokenizer.ggml.token_type": Signed([1] * 40),
    "/tokenizer.ggml.token_type_count": 2,
    "/tokenizer.ggml.cls_token_id": 2,
    "/tokenizer.ggml.seperator_token_id": 3,
    "/tokenizer.ggml.unknown_token_id": 1,
    "attention.causal": False,
    "pooling_type": 1,
}

CASES = [
    Case("llama-moe", "llama", {"expert_count": 5, "expert_used_count": 2}, ["ffn_gate_exps.weight"]),
    Case("qwen3moe", "qwen3moe", EXPERTS),
    Case("gpt-oss", "gpt-oss", {**EXPERTS, **YARN, "rope.scaling.yarn_log_multiplier": None, "attention.sliding_window": 8, "attention.key_length": 16, "attention.value_length": 16}, BIASED),
    Case("qwen2moe", "qwen2moe", {**EXPERTS, "expert_shared_feed_forward_length": 40}, BIASED),
    Case("olmoe", "olmoe", {"expert_count": 6, "expert_used_count": 2, "feed_forward_length": 24}, kv_heads=4),
    Case(
        "deepseek2",
        "deepseek2",
        {
            **LATENT,
            **YARN,
            "attention.key_length": 24,
            "attention.value_length": 16,
            "attention.key_length_mla": 20,
            "attention.value_length_mla": 12,
            "expert_gating_func": 2,
            "expert_group_count": 4,
            "expert_group_used_count": 2,
        },
        ["exp_probs_b.bias"],
        kv_heads=1,
        layers=3,
    ),
    Case(
        "deepseek2-separate",
        "deepseek2",
        {**LATENT, **YARN, "attention.key_length": 20, "attention.value_length": 12, "expert_gating_func": 1, "expert_weights_norm": False},
        kv_heads=4,
    ),
    Case(
        "deepseek2-lite",
        "deepseek2",
        {**LATENT, "attention.q_lora_rank": None, "attention.key_length": 24, "attention.value_length": 16, "attention.key_length_mla": 20, "attention.value_length_mla": 12, "expert_weights_norm": False, "expert_weights_scale": None},
        layers=27,
        width=16,
        heads=2,
        kv_heads=1,
        inner=16,
    ),
    Case("glm4", "glm4", {"rope.dimension_count": 4}, BIASED),
    Case("glm4-sections", "glm4", {"rope.dimension_sections": [2, 1, 1, 0]}, BIASED),
    Case("exaone4", "exaone4", {"attention.sliding_window": 8}),
    Case("exaone4-32b", "exaone4", {"attention.sliding_window": 8}, layers=64, width=16, heads=2, kv_heads=1, inner=8),
    Case("internlm2", "internlm2"),
    Case("falcon", "falcon", norm="layer", kv_heads=1),
    Case("falcon-40b", "falcon", tensors=["attn_norm_2.weight", "attn_norm_2.bias"], norm="layer"),
    Case("command-r", "command-r", {"logit_scale": 0.25}, norm="layer"),
    Case("command-r-plus", "command-r", {"logit_scale": 0.25}, norm="layer", layers=64, width=16, heads=2, kv_heads=1, inner=8),
    Case("nemotron", "nemotron", {"rope.dimension_count": 4}, norm="layer"),
    Case("ernie4_5", "ernie4_5"),
    Case("seed_oss", "seed_oss", {"attention.key_length": 12, "attention.value_length": 12}, BIASED),
    Case("hunyuan-dense", "hunyuan-dense"),
    Case("hunyuan-moe", "hunyuan-moe", {**EXPERTS, "expert_shared_count": 1, "expert_shared_feed_forward_length": 40}),
    Case(
        "ernie4_5-moe",
        "ernie4_5-moe",
        {**EXPERTS, "expert_shared_count": 2, "expert_shared_feed_forward_length": 48, "leading_dense_block_count": 1, "interleave_moe_layer_step": 1},
        ["exp_probs_b.bias"],
        layers=3,
    ),
    Case("gptneox", "gptneox", {"use_parallel_residual": False, "rope.dimension_count": 4}, norm="layer", kv_heads=4),
    Case("gptneox-parallel", "gptneox", {"use_parallel_residual": True, "rope.dimension_count": 2}, norm="layer", kv_heads=4),
    Case("mpt", "mpt", {"attention.max_alibi_bias": 8.0, "attention.clamp_kqv": 0.5}, norm="layer", heads=6, kv_heads=6, width=48),
    Case("bloom", "bloom", norm="layer", kv_heads=4),
    Case("baichuan-7b", "baichuan", layers=32, width=16, heads=2, kv_heads=2, inner=8),
    Case("baichuan-13b", "baichuan", layers=40, width=20, heads=5, kv_heads=5, inner=8),
    Case("xverse", "xverse"),
    Case("minicpm", "minicpm"),
    Case("minicpm-scaled", "minicpm", {"embedding_scale": 3.0, "residual_scale": 0.5, "logit_scale": 2.0}),
    Case("granite-moe", "granitemoe", {"expert_count": 5, "expert_used_count": 2, "embedding_scale": 2.0, "residual_scale": 0.5, "attention.scale": 0.25, "logit_scale": 4.0}),
    Case("lfm2", "lfm2", {"shortconv.l_cache": 3}, layers=3, kv_heads=[0, 2, 0]),
    Case(
        "lfm2moe",
        "lfm2moe",
        {**EXPERTS, "shortconv.l_cache": 3, "leading_dense_block_count": 1, "expert_gating_func": 2},
        ["/blk.1.exp_probs_b.bias", "/blk.2.exp_probs_b.bias"],
        layers=3,
        kv_heads=[0, 2, 0],
    ),
    Case("mamba", "mamba", {"ssm.inner_size": 64, "ssm.conv_kernel": 4, "ssm.state_size": 6, "ssm.time_step_rank": 3, "feed_forward_length": 0, "attention.head_count": 0}, kv_heads=None),
    Case("mamba2", "mamba2", {"ssm.inner_size": 64, "ssm.conv_kernel": 4, "ssm.state_size": 6, "ssm.time_step_rank": 8, "ssm.group_count": 2, "feed_forward_length": 0, "attention.head_count": 0}, kv_heads=None),
    Case("falcon-mamba", "mamba", {"ssm.inner_size": 64, "ssm.conv_kernel": 4, "ssm.state_size": 6, "ssm.time_step_rank": 3, "ssm.dt_b_c_rms": True, "feed_forward_length": 0, "attention.head_count": 0}, kv_heads=None),
    Case(
        "jamba",
        "jamba",
        {"ssm.inner_size": 64, "ssm.conv_kernel": 4, "ssm.state_size": 6, "ssm.time_step_rank": 3, "expert_count": 4, "expert_used_count": 2},
        ["/blk.1.ffn_gate_inp.weight"],
        layers=3,
        kv_heads=[0, 2, 0],
    ),
    Case("bert", "bert", WORDS, norm="layer", kv_heads=4, pooled=True),
    Case("nomic-bert", "nomic-bert", {**WORDS, "rope.freq_base": 1000.0}, norm="layer", kv_heads=4, pooled=True),
]

RANK_WORDS = {**WORDS, "/tokenizer.ggml.bos_token_id": 2}
PAIRS = {"query": "w3 w17", "documents": ["w1 w2", "w3 w9 w17 w30 w31 w12", "", "w17", "w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w3"]}
HEAD = ["/cls.weight", "/cls.bias"]
LABELS = {"pooling_type": 4, "classifier.output_labels": ["LABEL_0"]}
"""Texts of the letters a to z, with the markup of a chat."""
LETTERS = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", *[chr(97 + i) for i in range(26)], "\u0120", "\u010a", ":", "<", ">", "|", "_", "ab", "\u0120a", "\u0120ab"]
JUDGE = {
    "/tokenizer.ggml.model": "gpt2",
    "/tokenizer.ggml.pre": "qwen2",
    "/tokenizer.ggml.tokens": [*LETTERS, *[f"[unused{i}]" for i in range(42 - len(LETTERS))]],
    "/tokenizer.ggml.token_type": Signed([3, 3, 4, 4] + [1] * (len(LETTERS) - 4) + [5] * (42 - len(LETTERS))),
    "/tokenizer.ggml.merges": ["a b", "\u0120 a", "\u0120a b"],
    "/tokenizer.ggml.bos_token_id": 1,
    "/tokenizer.ggml.eos_token_id": 1,
    "/tokenizer.chat_template.rerank": "<|im_start|>user\nquery: {query}\ndocument: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    "pooling_type": 4,
    "classifier.output_labels": ["yes", "no"],
}
CASES += [
    Case("bert-rank", "bert", {**RANK_WORDS, **LABELS}, [*HEAD, "/cls.output.weight", "/cls.output.bias"], norm="layer", kv_heads=4, ranked=PAIRS),
    Case("bert-rank-dense", "bert", {**RANK_WORDS, "pooling_type": 4}, HEAD, norm="layer", kv_heads=4, ranked=PAIRS),
    Case("bert-rank-output", "bert", {**RANK_WORDS, **LABELS, "classifier.output_labels": ["LABEL_0", "LABEL_1", "LABEL_2"]}, ["/cls.output.weight"], norm="layer", kv_heads=4, ranked=PAIRS),
    Case("qwen3-rank", "qwen3", {**JUDGE, "context_length": 128}, ["/cls.output.weight"], vocab=42, ranked={"query": "a quick red fox", "documents": ["a fox ran", "the owl", "cab", "about a cab and a fox: it ran"]}),
]

EXPERT_FAMILIES = ["qwen2moe", "qwen3moe", "olmoe", "deepseek2", "hunyuan-moe", "ernie4_5-moe", "granite-moe", "llama-moe", "gpt-oss"]
PLAIN = "glm4 exaone4 internlm2 falcon command-r nemotron ernie4_5 seed_oss hunyuan-dense gptneox bloom baichuan-7b xverse minicpm".split()
named = {case.name: case for case in CASES}
CASES += [replace(named[name], name=f"{name}-full", full=True) for name in [*PLAIN, *EXPERT_FAMILIES, "lfm2", "lfm2moe", "mamba", "mamba2", "jamba", "bert", "nomic-bert"]]
# llama.cpp fails on norms of queries with these names, but takes those of keys, which do nothing alone.
CASES += [replace(named["mpt"], name="mpt-full", full=True, without=("attn_q_norm.weight", "attn_q_norm.bias"))]
CASES += [replace(named["deepseek2"], name="deepseek2-gate-up", tensors=[*named["deepseek2"].tensors, "ffn_gate_up_exps.weight"])]
CASES += [Case(f"{name}-qkv", named[name].family, named[name].extra, ["attn_qkv.weight", "attn_qkv.bias"], named[name].norm) for name in ("glm4", "exaone4", "internlm2", "command-r", "nemotron", "ernie4_5", "seed_oss", "hunyuan-dense", "xverse", "minicpm")]
CASES += [
    replace(named["granite-moe"], name="granite-moe-shared", extra={**named["granite-moe"].extra, "expert_shared_feed_forward_length": 20}),
    replace(named["ernie4_5-moe"], name="ernie4_5-moe-alone", extra={**EXPERTS, "interleave_moe_layer_step": 1, "leading_dense_block_count": 1}),
]
TEMPERATURE = {"attention.temperature_scale": 0.1, "attention.temperature_length": 3, "rope.scaling.original_context_length": 8}
CASES += [
    Case("mistral3-temperature", "mistral3", TEMPERATURE),
    replace(named["deepseek2"], name="deepseek2-temperature", extra={**named["deepseek2"].extra, **TEMPERATURE, "rope.scaling.original_context_length": 16}),
    replace(named["deepseek2-separate"], name="deepseek2-separate-temperature", extra={**named["deepseek2-separate"].extra, **TEMPERATURE, "rope.scaling.original_context_length": 16}),
    Case("lfm2-windowed", "lfm2", {"shortconv.l_cache": 3, "attention.sliding_window": 8, "rope.freq_base": 500.0, "rope.freq_base_swa": 100.0}, layers=3, kv_heads=[0, 2, 0]),
    Case("gpt-oss-bases", "gpt-oss", {**named["gpt-oss"].extra, "rope.freq_base": 500.0, "rope.freq_base_swa": 100.0}, BIASED),
]
SECTIONS = {"rope.dimension_sections": [2, 1, 1, 0]}
MIXED = {**EXPERTS, "expert_weights_scale": 2.5, "expert_weights_norm": True, "expert_shared_count": 2, "leading_dense_block_count": 1}
CASES += [
    Case("arcee", "arcee"),
    Case("exaone", "exaone"),
    Case("orion", "orion", norm="layer"),
    Case("codeshell", "codeshell", norm="layer"),
    Case("jais2", "jais2", norm="layer"),
    Case("chatglm", "chatglm", {"rope.dimension_count": 4}, BIASED),
    Case("pangu-embedded", "pangu-embedded"),
    Case("plamo", "plamo"),
    Case("refact", "refact", kv_heads=1),
    Case("jais", "jais", {"attention.max_alibi_bias": 8.0}, norm="layer", kv_heads=4),
    Case("starcoder", "starcoder", norm="layer", kv_heads=1),
    Case("maincoder", "maincoder"),
    Case("olmo", "olmo", {"attention.clamp_kqv": 0.5}, norm="layer"),
    Case("qwen2vl", "qwen2vl", SECTIONS, BIASED),
    Case("qwen3vl", "qwen3vl", SECTIONS),
    Case("qwen3vlmoe", "qwen3vlmoe", {**SECTIONS, **EXPERTS}),
    Case("paddleocr", "paddleocr", SECTIONS),
    Case("deepseek", "deepseek", MIXED, layers=3),
    Case("dots1", "dots1", {**MIXED, "expert_gating_func": 2}, ["/blk.1.exp_probs_b.bias", "/blk.2.exp_probs_b.bias"], layers=3, kv_heads=4),
    Case("bailingmoe", "bailingmoe", MIXED, layers=3),
    Case("minimax-m2", "minimax-m2", {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 24, "expert_gating_func": 2}, ["exp_probs_b.bias"]),
    Case("glm4moe", "glm4moe", MIXED, [*BIASED, "attn_q_norm.weight", "attn_k_norm.weight"], layers=3),
    Case("phimoe", "phimoe", {"expert_count": 6, "expert_used_count": 2}),
    Case("dbrx", "dbrx", {"expert_count": 6, "expert_used_count": 2, "attention.clamp_kqv": 0.5}, norm="layer"),
]
DENSE_THEN_MIXED = [f"/blk.0.ffn_{part}.weight" for part in ("gate", "up", "down")] + ["/blk.1.exp_probs_b", "/blk.1.ffn_gate_inp.weight"]
DENSE_THEN_MIXED += [f"/blk.1.ffn_{part}_{kind}.weight" for part in ("gate", "up", "down") for kind in ("exps", "shexp")]
WINDOWED = {"attention.sliding_window": 8, "rope.freq_base": 500.0, "rope.freq_base_swa": 100.0}
EVERY_OTHER = {"attention.sliding_window_pattern": [True, False, True]}
CASES += [
    Case("mellum", "mellum", {**WINDOWED, **EXPERTS, "rope.freq_base_swa": None, "rope.scaling.type": "linear", "rope.scaling.factor": 2.0}, layers=4),
    Case("plamo3", "plamo3", {**WINDOWED, "attention.key_length": 8, "attention.value_length": 8}, layers=8, width=16, heads=2, kv_heads=1, inner=16),
    Case("exaone-moe", "exaone-moe", {**WINDOWED, **MIXED, "rope.freq_base_swa": None, "expert_gating_func": 2, "expert_shared_feed_forward_length": 40}, layers=4),
    Case("bailingmoe2", "bailingmoe2", {**MIXED, "expert_gating_func": 2, "expert_shared_feed_forward_length": 40, "expert_group_count": 2, "expert_group_used_count": 1}, ["/blk.1.exp_probs_b.bias", "/blk.2.exp_probs_b.bias"], layers=3),
    Case("afmoe", "afmoe", {**WINDOWED, **MIXED}, layers=4),
    Case("spark2_5", "spark2_5", {**WINDOWED, **EVERY_OTHER}, layers=3),
    Case("hy_v3", "hy_v3", {**MIXED, "leading_dense_block_count": None}, DENSE_THEN_MIXED, layers=2),
]
MAMBA2 = {"ssm.inner_size": 64, "ssm.conv_kernel": 4, "ssm.state_size": 6, "ssm.time_step_rank": 8, "ssm.group_count": 2}
CONVOLVED = ["/blk.0.ssm_conv1d.bias", "/blk.2.ssm_conv1d.bias"]
GRANITE = {"embedding_scale": 2.0, "residual_scale": 0.5, "attention.scale": 0.25, "logit_scale": 4.0}
CASES += [
    Case("granitehybrid", "granitehybrid", {**MAMBA2, **GRANITE, "rope.scaling.finetuned": False}, CONVOLVED, layers=3, kv_heads=[0, 2, 0]),
    Case("granitehybrid-moe", "granitehybrid", {**MAMBA2, **GRANITE, "rope.scaling.finetuned": True, "expert_count": 5, "expert_used_count": 2, "expert_shared_feed_forward_length": 20}, CONVOLVED, layers=3, kv_heads=[0, 2, 0]),
    Case("falcon-h1", "falcon-h1", {**MAMBA2, "attention.key_length": 8, "attention.value_length": 8}, ["ssm_conv1d.bias"]),
]
KINDS = {**MAMBA2, "feed_forward_length": [0, 0, 48, 0]}
CASES += [
    Case("arctic", "arctic", {"expert_count": 5, "expert_used_count": 2}),
    Case("smallthinker", "smallthinker", {**EXPERTS, "expert_gating_func": 2}),
    Case("smallthinker-windowed", "smallthinker", {**EXPERTS, "expert_gating_func": 1, **WINDOWED}, layers=5),
    Case("nemotron_h", "nemotron_h", {**KINDS, "attention.key_length": 8, "attention.value_length": 8}, ["/blk.0.ssm_conv1d.bias", "/blk.3.ssm_conv1d.bias"], norm="layer", layers=4, kv_heads=[0, 2, 0, 0]),
    Case("nemotron_h_moe", "nemotron_h_moe", {**KINDS, "attention.key_length": 8, "attention.value_length": 8, "expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 24, "expert_shared_feed_forward_length": 40, "expert_shared_count": 1, "expert_weights_norm": True, "expert_weights_scale": 2.5}, ["/blk.0.ssm_conv1d.bias", "/blk.3.ssm_conv1d.bias"], norm="layer", layers=4, kv_heads=[0, 2, 0, 0]),
]
CASES += [Case("qwen", "qwen", tensors=["attn_qkv.bias"], kv_heads=4)]
DELTA = {"ssm.conv_kernel": 4, "ssm.state_size": 6, "ssm.time_step_rank": 4, "ssm.group_count": 2, "ssm.inner_size": 24, "full_attention_interval": 2}
DELTA |= {"attention.key_length": 8, "attention.value_length": 8, "rope.dimension_count": 4}
DELTA_INPUT = [f"/blk.{layer}.{name}.weight" for layer in (0, 2) for name in ("attn_qkv", "attn_gate")]
SHARED = {**EXPERTS, "expert_shared_feed_forward_length": 20}
CASES += [
    Case("qwen3next", "qwen3next", {**DELTA, **SHARED}, DELTA_INPUT, layers=3),
    Case("qwen3next-old", "qwen3next", {**DELTA, **SHARED}, ["/blk.0.ssm_in.weight", "/blk.2.ssm_in.weight"], layers=3),
    Case("qwen35", "qwen35", {**DELTA, "rope.dimension_sections": [1, 1, 0, 0], "full_attention_interval": None, "attention.recurrent_layers": [True, False, True]}, DELTA_INPUT, layers=3),
    Case("qwen35moe", "qwen35moe", {**DELTA, **SHARED, "rope.dimension_sections": [1, 1, 0, 0]}, DELTA_INPUT, layers=3),
]
GEMMA = {"attention.key_length": 8, "attention.value_length": 8, "attention.sliding_window": 4, "rope.freq_base": 1000000.0}
GEMMA4 = {**GEMMA, "attention.key_length_swa": 6, "attention.value_length_swa": 6, "rope.dimension_count": 8, "rope.dimension_count_swa": 6}
GEMMA4 |= {"attention.sliding_window_pattern": [True, False, True, False], "attention.shared_kv_layers": 2, "final_logit_softcapping": 30.0}
CASES += [
    Case("gemma3n", "gemma3n", GEMMA, layers=5, width=16, inner=128),
    Case("gemma3n-shared", "gemma3n", GEMMA, layers=22, width=16, inner=128, tolerance=3e-3),
    Case("gemma4", "gemma4", {**GEMMA4, "embedding_length_per_layer_input": 12, "feed_forward_length": [48, 40, 40, 56]}, ["layer_output_scale.weight", *[f"/blk.{i}.attn_v.weight" for i in (0, 1)]], layers=4),
    Case("gemma4-moe", "gemma4", {**GEMMA4, **EXPERTS, "embedding_length_per_layer_input": 0, "attention.shared_kv_layers": 0, "attention.head_count_kv": [2, 1, 2, 1]}, ["ffn_gate_inp.weight", "/blk.0.attn_v.weight", "ffn_down_exps.scale"], layers=4),
]
LISTED = {"attention.key_length": 8, "attention.value_length": 8}
CASES += [
    Case("apertus", "apertus", {"/xielu.alpha_n": [0.8, -0.3], "/xielu.alpha_p": [0.5, 0.9], "/xielu.beta": [0.5, 0.4], "/xielu.eps": [-1e-6, -1e-6]}),
    Case("bitnet", "bitnet", {}, ["attn_q.scale", "attn_output.scale", "ffn_up.scale", "ffn_down.scale"]),
    Case("openelm", "openelm", {**LISTED, "feed_forward_length": [48, 40]}, heads=[4, 6], kv_heads=[2, 3]),
    Case("deci", "deci", {**LISTED, "feed_forward_length": [48, 0, 40, 24]}, heads=[4, 0, 0, 4], kv_heads=[2, 0, 0, 0], layers=4),
    Case("minicpm3", "minicpm3", {"attention.q_lora_rank": 24, "attention.kv_lora_rank": 16, "attention.key_length": 14, "attention.value_length": 10, "rope.dimension_count": 6}, kv_heads=4),
    Case("plm", "plm", {"attention.kv_lora_rank": 16, "attention.key_length": 14, "attention.value_length": 10, "rope.dimension_count": 6}, kv_heads=4),
]
KIMI = {"attention.kv_lora_rank": 16, "rope.dimension_count": 6, "ssm.conv_kernel": 4, "kda.head_dim": 8, "expert_gating_func": 2, "leading_dense_block_count": 1}
KIMI |= {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 24, "expert_shared_count": 1, "expert_weights_scale": 2.5}
CASES += [
    Case("kimi-linear", "kimi-linear", {**KIMI, "attention.key_length": 22, "attention.value_length": 16, "attention.key_length_mla": 14, "attention.value_length_mla": 10}, [f"/blk.{layer}.ffn_{name}_shexp.weight" for layer in (1, 2) for name in ("gate", "up", "down")], layers=3, kv_heads=[0, 1, 0]),
]
CASES += [
    Case("eurobert", "eurobert", WORDS, pooled=True),
    Case("jina-bert-v3", "jina-bert-v3", {**WORDS, "rope.freq_base": 1000.0}, ["attn_qkv.weight", "attn_qkv.bias", "attn_output.bias", "ffn_up.bias", "ffn_down.bias"], norm="layer", kv_heads=4, pooled=True),
    Case("llama-embed", "llama-embed", WORDS, pooled=True),
    Case("neo-bert", "neo-bert", WORDS, kv_heads=4, pooled=True),
    Case("nomic-bert-moe", "nomic-bert-moe", {**WORDS, "rope.freq_base": 1000.0, "moe_every_n_layers": 2, "expert_count": 5, "expert_used_count": 2}, ["/blk.0.ffn_up.bias"], norm="layer", kv_heads=4, pooled=True),
]
WINDOW = {"attention.sliding_window": 4, "attention.sliding_window_pattern": [True, False, True]}
CASES += [
    Case("mimo2", "mimo2", {**LISTED, **EXPERTS, **WINDOW, "attention.value_scale": 0.7, "rope.freq_base_swa": 500.0}, ["/blk.0.ffn_up.weight", "/blk.0.ffn_gate.weight", "/blk.0.ffn_down.weight", "/blk.0.attn_sinks.weight", *[f"/blk.{i}.{name}" for i in (1, 2) for name in ("ffn_gate_inp.weight", "ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_down_exps.weight", "exp_probs_b.bias")]], heads=[4, 8, 4], kv_heads=[2, 4, 1], layers=3),
    Case("grok", "grok", {"expert_count": 5, "expert_used_count": 2, "embedding_scale": 2.0, "logit_scale": 0.5, "attention.output_scale": 0.3, "attn_logit_softcapping": 20.0, "final_logit_softcapping": 15.0}, ["ffn_gate.weight", "ffn_up.weight", "ffn_down.weight", "layer_output_norm.weight", "ffn_gate_exps.weight", "ffn_up_exps.weight"]),
    Case("grok-old", "grok", {"expert_count": 5, "expert_used_count": 2, "attn_logit_softcapping": 30.0, "final_logit_softcapping": 0.0}, ["ffn_gate_exps.weight", "ffn_up_exps.weight"]),
    Case("cohere2moe", "cohere2moe", {**EXPERTS, "logit_scale": 0.5, "attention.sliding_window": 4, "leading_dense_block_count": 1, "expert_shared_count": 1, "expert_shared_feed_forward_length": 20, "expert_weights_norm": True}, norm="layer", layers=5),
    Case("granite_swa", "granite_swa", {**GRANITE, **WINDOW, "attention.rope_pattern": [1, 0, 1]}, layers=3),
    Case("granite_swa-moe", "granite_swa", {**GRANITE, **WINDOW, "expert_count": 5, "expert_used_count": 2, "expert_shared_feed_forward_length": 20}, layers=3),
]
RWKV = {"wkv.head_size": 64, "attention.decay_lora_rank": 6, "attention.iclr_lora_rank": 5, "attention.value_residual_mix_lora_rank": 4, "attention.gate_lora_rank": 7, "attention.head_count": 0}
CASES += [
    Case("rwkv7", "rwkv7", {**RWKV, "token_shift_count": 2}, norm="layer", kv_heads=None, width=128),
    Case("arwkv7", "arwkv7", {**RWKV, "token_shift_count": 1}, ["time_mix_ln.weight", "time_mix_ln.bias", "time_mix_g1.weight", "time_mix_g2.weight"], kv_heads=None, width=128),
]
CASES += [
    Case("laguna", "laguna", {**LISTED, **EXPERTS, "leading_dense_block_count": 1, "expert_shared_feed_forward_length": 20, "expert_weights_norm": True, "attention.sliding_window": 4, "rope.dimension_count": 4, "rope.dimension_count_swa": 8, "rope.freq_base_swa": 500.0}, heads=[4, 8, 8, 8, 4], kv_heads=2, layers=5),
    Case("talkie", "talkie", {"logit_scale": 0.5}, kv_heads=4),
    Case("muse-glimmer", "muse-glimmer", {"attention.sliding_window": 4, "logit_scale": 0.5, "final_logit_softcapping": 20.0, "rope.freq_base_swa": 500.0}, layers=4),
    Case("hunyuan_vl", "hunyuan_vl", {"rope.scaling.alpha": 3.0, "rope.dimension_sections": [2, 1, 1, 0]}),
]
MIX = ["ffn_gate_inp.weight", "exp_probs_b.bias", *[f"ffn_{name}_{kind}.weight" for name in ("gate", "up", "down") for kind in ("exps", "shexp")]]
CASES += [
    Case("step35", "step35", {**LISTED, **EXPERTS, **WINDOW, "rope.dimension_count": 8, "rope.freq_base_swa": 500.0, "expert_shared_feed_forward_length": 20, "expert_weights_norm": True, "swiglu_clamp_exp": [0.0, 0.4, 0.0], "swiglu_clamp_shexp": [0.3, 0.0, 0.5]}, ["attn_gate.weight", "attn_q_norm.weight", "attn_k_norm.weight", *[f"/blk.0.ffn_{name}.weight" for name in ("gate", "up", "down")], *[f"/blk.{i}.{name}" for i in (1, 2) for name in MIX]], heads=[8, 4, 8], kv_heads=[4, 2, 2], layers=3),
]
MISTRAL4 = {**named["deepseek2"].extra, "expert_gating_func": 1, "rope.freq_base": 500.0}
CASES += [
    Case("mistral4", "mistral4", {**MISTRAL4, **TEMPERATURE, "rope.scaling.original_context_length": 16, "leading_dense_block_count": 0}, kv_heads=1, layers=3),
    Case("maple", "maple", {**LISTED, **EXPERTS, **WINDOW, "rope.freq_base": 500.0, "rope.freq_base_swa": 100.0, "swiglu_clamp_exp": [0.3, 0.0, 0.5]}, layers=3),
    Case("grovemoe", "grovemoe", {**EXPERTS, "expert_chunk_feed_forward_length": 16, "expert_group_scale": 0.3, "experts_per_group": 2}),
    Case("nanbeige", "nanbeige", {"num_loops": 3, "rope.freq_base": 500.0}),
    Case("nanbeige-skip", "nanbeige", {"num_loops": 2, "skip_loop_final_norm": True}),
    Case("hrm_text", "hrm_text", {"hrm.layers_per_stack": 2, "hrm.h_cycles": 2, "hrm.l_cycles": 3, "embedding_scale": 2.0}, layers=16),
    Case("llama4", "llama4", {**EXPERTS, "interleave_moe_layer_step": 2}, layers=4),
]
RWKV6 = {"wkv.head_size": 64, "time_mix_extra_dim": 6, "time_decay_extra_dim": 5, "attention.head_count": 0}
RWKV6_FACTORS = [f"time_mix_lerp_{part}.weight" for part in "wkvrg"]
CASES += [
    Case("rwkv6", "rwkv6", {**RWKV6, "token_shift_count": 2, "rescale_every_n_layers": 2}, ["time_mix_lerp_fused.weight"], norm="layer", kv_heads=None, width=128),
    Case("rwkv6-old", "rwkv6", {**RWKV6, "token_shift_count": 2}, RWKV6_FACTORS, norm="layer", kv_heads=None, width=128),
    Case("rwkv6qwen2", "rwkv6qwen2", {**RWKV6, "token_shift_count": 1}, [f"time_mix_{part}.bias" for part in ("key", "value", "receptance")], kv_heads=1, width=128),
    Case("plamo2", "plamo2", {**MAMBA2, **LISTED, "ssm.group_count": 0}, layers=3, kv_heads=[0, 2, 0]),
]
RING3 = {**KIMI, "kda.gate_lower_bound": -5.0, "kda.safe_gate": True, "expert_weights_norm": True, "swiglu_clamp_exp": [0.0, 0.3, 0.4], "swiglu_clamp_shexp": [0.3, 0.4, 0.0]}
CASES += [
    Case("bailingmoe3", "bailingmoe3", {**RING3, "attention.q_lora_rank": 12, "attention.key_length": 22, "attention.value_length": 16, "attention.key_length_mla": 14, "attention.value_length_mla": 10}, layers=3, kv_heads=[0, 1, 0]),
    Case("minimax-01", "minimax-01", {"residual_scale": 3.5, "full_attention_interval": 2, "expert_count": 6, "expert_used_count": 2, "rope.dimension_count": 4, "attention.key_length": 8, "attention.value_length": 8}, layers=3),
]
CASES += [
    Case("dream", "dream", {"rope.freq_base": 1000.0}, [*BIASED, "/output.bias"]),
    Case("llada", "llada", {"rope.freq_base": 1000.0, "attention.causal": False}, ["/rope_freqs.weight", "attn_output.bias", "ffn_gate.bias", "ffn_up.bias", "ffn_down.bias"], kv_heads=4),
    Case("llada-moe", "llada-moe", EXPERTS, kv_heads=4),
    Case("rnd1", "rnd1", EXPERTS),
]
ENCODER = {**WORDS, "attention.sliding_window": 5, "rope.freq_base": 1000.0, "rope.freq_base_swa": 200.0}
CASES += [
    Case("gemma-embedding", "gemma-embedding", {**ENCODER, "attention.sliding_window_pattern": [True, False, True]}, layers=3, pooled=True),
    Case("gemma-embedding-dense", "gemma-embedding", {**ENCODER, "attention.sliding_window": 6, "rope.freq_base_swa": None, "attention.sliding_window_pattern": [False, True], "dense_2_feat_in": 32, "dense_2_feat_out": 24, "dense_3_feat_in": 24, "dense_3_feat_out": 32}, ["/dense_2.weight", "/dense_3.weight"], pooled=True),
    Case("modern-bert", "modern-bert", ENCODER, ["/blk.1.attn_norm.weight", "/blk.2.attn_norm.weight"], norm="layer", kv_heads=4, layers=3, pooled=True),
    Case("jina-bert-v2", "jina-bert-v2", WORDS, ["ffn_gate.weight", "ffn_up.bias", "attn_norm_2.weight", "attn_norm_2.bias"], norm="layer", heads=6, kv_heads=6, width=48, pooled=True),
    Case("jina-bert-v2-plain", "jina-bert-v2", WORDS, norm="layer", kv_heads=4, pooled=True),
    Case("t5encoder", "t5encoder", {**WORDS, "attention.key_length": 6, "attention.value_length": 6, "attention.relative_buckets_count": 12}, ["/enc.blk.0.attn_rel_b.weight", *[f"/enc.blk.{i}.ffn_gate.weight" for i in (0, 1)]], kv_heads=4, pooled=True),
    Case("t5encoder-relu", "t5encoder", {**WORDS, "attention.relative_buckets_count": 32}, [f"/enc.blk.{i}.attn_rel_b.weight" for i in (0, 1)], kv_heads=4, pooled=True),
    Case("t5", "t5", {"attention.key_length": 6, "attention.value_length": 6, "attention.relative_buckets_count": 12, "decoder_start_token_id": 0}, ["/enc.blk.0.attn_rel_b.weight", "/dec.blk.0.attn_rel_b.weight", *[f"/{side}.blk.{i}.ffn_gate.weight" for side in ("enc", "dec") for i in (0, 1)]], kv_heads=4, start=0),
    Case("t5-shallow", "t5", {"attention.relative_buckets_count": 32, "decoder_block_count": 2, "decoder_start_token_id": 1}, ["/enc.blk.0.attn_rel_b.weight", "/enc.blk.2.attn_rel_b.weight", "/dec.blk.0.attn_rel_b.weight", "/dec.blk.1.attn_rel_b.weight"], layers=3, kv_heads=4, start=1),
    Case("modern-bert-silu", "modern-bert", {**WORDS, "hidden_activation": "silu"}, norm="layer", kv_heads=4, pooled=True),
]
INDEXED = {"attention.indexer.head_count": 12, "attention.indexer.key_length": 64, "attention.indexer.top_k": 5, "expert_gating_func": 2}
INDEXED = {**LATENT, **INDEXED, "attention.key_length": 24, "attention.value_length": 16, "attention.key_length_mla": 20, "attention.value_length_mla": 12}
CASES += [
    Case("deepseek32", "deepseek32", {**INDEXED, **YARN}, ["/blk.1.exp_probs_b.bias"], kv_heads=1, layers=2),
    Case("glm-dsa", "glm-dsa", {**INDEXED, "attention.indexer.types": [1, 0, 1]}, [f"/blk.{layer}.indexer.{name}" for layer in (0, 2) for name in ("k_norm.weight", "k_norm.bias", "proj.weight", "attn_k.weight", "attn_q_b.weight")], kv_heads=1, layers=3),
]
CASES += [
    Case("modern-bert-rank", "modern-bert", {**ENCODER, **RANK_WORDS, **LABELS}, ["/cls.weight", "/cls.norm.weight", "/cls.output.weight", "/cls.output.bias"], norm="layer", kv_heads=4, layers=3, ranked=PAIRS),
    Case("qwen3-embed", "qwen3", {"pooling_type": 3}, pooled=True),
    Case("jina-bert-v2-rank", "jina-bert-v2", {**RANK_WORDS, "pooling_type": 4}, HEAD, norm="layer", kv_heads=4, ranked=PAIRS),
]
DOTS3 = {**INDEXED, "attention.head_count": [4, 8, 4], "attention.kv_lora_rank_swa": 24, "attention.key_length_swa": 32, "attention.value_length_swa": 24, "attention.key_length_mla_swa": 18, "attention.value_length_mla_swa": 14}
CASES += [
    Case("dots3note", "dots3note", {**DOTS3, **WINDOW, "attention.indexer.types": [0, 1, 0], "rope.freq_base": 500.0, "rope.freq_base_swa": 100.0}, kv_heads=1, layers=3),
]
SPARSE_BLOCKS = {**MIXED, "expert_gating_func": 2, "rope.dimension_count": 4, "attention.indexer.head_count": 2, "attention.indexer.key_length": 16}
SPARSE_BLOCKS |= {"attention.indexer.block_size": 4, "attention.indexer.local_blocks": 1}
# llama.cpp rounds keys of fused attention to f16 in dense layers.
CASES += [
    Case("minimax-m3", "minimax-m3", {**SPARSE_BLOCKS, "attention.indexer.top_k": 3, "leading_dense_block_count": 0}, layers=2, fused=True),
    Case("minimax-m3-dense", "minimax-m3", {**SPARSE_BLOCKS, "attention.indexer.top_k": 40}, layers=3),
]
CASES += [
    Case("cogvlm", "cogvlm", kv_heads=4),
    Case("deepseek2-ocr", "deepseek2-ocr", {**MIXED, "expert_gating_func": 1}, ["/blk.1.exp_probs_b.bias", "/blk.2.exp_probs_b.bias"], layers=3, kv_heads=4),
]
HYPER = {"hyper_connection.count": 3, "hyper_connection.epsilon": 1e-3}
HY4 = {**INDEXED, **HYPER, "hyper_connection.magnitude": 1.5, "swiglu_clamp_exp": 0.3}
K3 = {**KIMI, "attn_res.block_size": 2, "activation.situ_beta": 1.5, "activation.situ_linear_beta": 0.8, "expert_weights_norm": True}
K3_SHARED = [f"/blk.{layer}.ffn_{name}_shexp.weight" for layer in (1, 2, 3) for name in ("gate", "up", "down")]
K3_ATTENTION = {"attention.key_length": 22, "attention.value_length": 16, "attention.key_length_mla": 14, "attention.value_length_mla": 10}
SWITCH = {"adapters.count": 2, "adapters.lora_rank": 5, "adapters.router_gain": 12.0, "adapters.token_ids_activate": [11, 19], "adapters.token_ids_substitute": [4, 9]}
SWITCH |= {"embedding_scale": 2.0, "residual_scale": 0.5, "attention.scale": 0.25, "logit_scale": 4.0, "rope.scaling.finetuned": True}
CASES += [
    Case("hy_v4", "hy_v4", {**HY4, "attention.indexer.types": [1, 0, 1]}, ["/blk.1.exp_probs_b.bias", "/blk.2.exp_probs_b.bias"], kv_heads=1, layers=3),
    Case("hy_v4-dense", "hy_v4", {key: value for key, value in HY4.items() if "indexer" not in key}, kv_heads=1),
    Case("kimi-k3", "kimi-k3", {**K3, **K3_ATTENTION, "attention.q_lora_rank": 12, "kda.gate_lower_bound": -5.0, "expert_latent_length": 20}, [*K3_SHARED, *[f"/blk.{i}.{name}.weight" for i in (1, 3) for name in ("attn_q_a_norm", "attn_gate", "ffn_routed_norm")]], layers=4, kv_heads=[0, 1, 0, 1]),
    Case("kimi-k3-plain", "kimi-k3", {**K3, **K3_ATTENTION, "activation.situ_linear_beta": 0.0, "attn_res.block_size": 0}, K3_SHARED[:6], layers=3, kv_heads=[1, 0, 0]),
    Case("chameleon", "chameleon", {}, ["attn_q_norm.bias"], vocab=8200, width=16, heads=4, inner=24, hidden=(4, 8196)),
    Case("graniteswitch", "graniteswitch", SWITCH),
]
LATENT_EXPERTS = next(case for case in CASES if case.name == "nemotron_h_moe")
CASES += [replace(LATENT_EXPERTS, name="nemotron_h_moe-latent", extra={**LATENT_EXPERTS.extra, "moe_latent_size": 20}, tensors=[*LATENT_EXPERTS.tensors, "/blk.2.ffn_latent_down.weight", "/blk.2.ffn_latent_up.weight"])]
DEEPSEEK4 = {"attention.q_lora_rank": 12, "attention.key_length": 16, "attention.value_length": 16, "rope.dimension_count": 6, "attention.sliding_window": 8}
DEEPSEEK4 |= {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 24, "expert_shared_count": 1, "expert_gating_func": 4}
DEEPSEEK4 |= {"expert_weights_norm": True, "expert_weights_scale": 1.5, "swiglu_clamp_exp": 0.4, "swiglu_clamp_shexp": 0.5, "hash_layer_count": 0, "hyper_connection.count": 4}
DEEPSEEK4 |= {"hyper_connection.epsilon": 1e-3, "hyper_connection.sinkhorn_iterations": 3, "attention.output_group_count": 2, "attention.output_lora_rank": 10}
DEEPSEEK4 |= {"attention.compress_ratios": [0, 4, 128], "attention.compress_rope_freq_base": 500.0, "attention.indexer.head_count": 12}
DEEPSEEK4 |= {"attention.indexer.key_length": 64, "attention.indexer.top_k": 4, **YARN, "rope.scaling.yarn_log_multiplier": None, "context_length": 256}
CASES += [Case("deepseek4", "deepseek4", DEEPSEEK4, kv_heads=1, layers=3, tokens=136, stored={"metadata": {"hash_layer_count": 1}, "without": ["blk.0.exp_probs_b.bias"], "tensors": {"blk.0.ffn_gate_tid2eid.weight": [40, 2]}, "merged": "attn_output_a.weight"})]
# Rows of whole blocks of every type.
CASES += [
    Case("llama-wide", "llama", width=256, inner=256, layers=1),
    Case("qwen3moe-wide", "qwen3moe", {"expert_count": 3, "expert_used_count": 2, "expert_feed_forward_length": 256}, width=256, inner=256, layers=1),
    Case("mamba2-wide", "mamba2", {"ssm.inner_size": 256, "ssm.conv_kernel": 4, "ssm.state_size": 16, "ssm.time_step_rank": 8, "ssm.group_count": 2, "feed_forward_length": 0, "attention.head_count": 0}, kv_heads=None, width=256, layers=1),
]
QWEN4 = {**DELTA, **EXPERTS, "expert_shared_feed_forward_length": 20, "rope.dimension_sections": [1, 1, 0, 0], "full_attention_interval": 3}
QWEN4 |= {"hyper_connection.count": 3, "hyper_connection.low_rank": 5, "attention.indexer.head_count": 12, "attention.indexer.key_length": 8}
QWEN4 |= {"attention.indexer.top_k": 8, "attention.compress_ratios": [2, 2, 2], "ssm.time_step_rank": 4}
NGRAMS = {"ple.layers": [1], "ple.ngram_size": 3, "ple.heads_per_ngram": 2, "ple.conv_kernel": 3, "ple.eos_token_id": 31, "embedding_length_per_layer_input": 8}
NGRAMS |= {"ple.layer_multipliers": Wide([6364136223846793, 1442695040888963, 2862933555777941]), "ple.head_offsets": Wide([0, 11, 24, 30]), "ple.head_vocab_sizes": Wide([11, 13, 6, 17])}
# llama.cpp completes a query's keys with some of a further block. Where its own block is full but for a token, there is no room for them.
CASES += [
    Case("qwen4exp", "qwen4exp", {**QWEN4, **NGRAMS, "attention.indexer.top_k": 64}, layers=3),
    Case("qwen4exp-sparse", "qwen4exp", QWEN4, layers=3, rows=list(range(0, 24, 2))),
]
NEXTN = {"nextn_predict_layers": 1}
CASES += [
    Case("glm4moe-nextn", "glm4moe", {**MIXED, **NEXTN}, layers=3, nextn=("glm4moe", 1)),
    Case("qwen35-nextn", "qwen35", {**DELTA, **NEXTN, "rope.dimension_sections": [1, 1, 0, 0], "full_attention_interval": None, "attention.recurrent_layers": [True, False, True, False]}, layers=4, nextn=("qwen35", 1)),
    Case("hy_v3-nextn", "hy_v3", {**MIXED, **NEXTN, "leading_dense_block_count": None}, layers=2, nextn=("hy_v3", 1)),
    Case("qwen3next-nextn", "qwen3next", {**DELTA, **SHARED, **NEXTN}, layers=3, nextn=("qwen3next", 1)),
    Case("qwen35moe-nextn", "qwen35moe", {**DELTA, **SHARED, **NEXTN, "rope.dimension_sections": [1, 1, 0, 0]}, layers=3, nextn=("qwen35moe", 1)),
    Case("deepseek2-nextn", "deepseek2", {**named["deepseek2"].extra, **NEXTN}, kv_heads=1, layers=3, nextn=("deepseek2", 1)),
]
named |= {case.name: case for case in CASES}


def with_nextn(name, keys, *nextn, **options):
    case = named[name]
    own = {"name": f"{name}-nextn", "extra": {**case.extra, **NEXTN, **keys}, "layers": case.layers + 1, "nextn": (name, *nextn)}
    return replace(case, **{**own, **options})


# llama.cpp writes over the states of the first quarter of deepseek4's tokens before they are read. Later rows see them through a window of 8.
CASES += [
    with_nextn("deepseek32", {}, 1),
    with_nextn("glm-dsa", {}, 1),
    with_nextn("step35", {"attention.sliding_window_pattern": [True, False, True, True], "swiglu_clamp_exp": [0.0, 0.4, 0.0, 0.3], "swiglu_clamp_shexp": [0.3, 0.0, 0.5, 0.4]}, 2, heads=[8, 4, 8, 8], kv_heads=[4, 2, 2, 2]),
    with_nextn("mimo2", {"attention.sliding_window_pattern": [True, False, True, True]}, 0, ["attn_qkv.weight"], nextn_lacks=tuple(f"3.attn_{part}.weight" for part in "qkv"), heads=[4, 8, 4, 4], kv_heads=[2, 4, 1, 2]),
    with_nextn("cohere2moe", {}, 1),
    with_nextn("bailingmoe3", {"swiglu_clamp_exp": [0.0, 0.3, 0.4, 0.5], "swiglu_clamp_shexp": [0.3, 0.4, 0.0, 0.2]}, 1, ["layer_output_norm.weight"], nextn_lacks=("shared_head_norm.weight",), kv_heads=[0, 1, 0, 1]),
    with_nextn("deepseek4", {"attention.compress_ratios": [0, 4, 0]}, layers=3, tokens=24, nextn_from=13, stored={"metadata": {}, "without": [], "tensors": {"blk.2.nextn.eh_proj.weight": [32, 64], **{f"blk.2.nextn.{name}.weight": [32] for name in ("enorm", "hnorm", "shared_head_norm")}}, "merged": "attn_output_a.weight"}),
    with_nextn("nemotron_h_moe-latent", {"feed_forward_length": [0, 0, 48, 0, 0]}, 1, 2, ["post_attention_norm.weight"], kv_heads=[0, 2, 0, 0, 2]),
]

# Families in which llama.cpp leaves out some of the scales and biases that it reads.
SCALED = "afmoe cogvlm mellum plamo2 plamo3 qwen2vl qwen3vl qwen3vlmoe refact spark2_5 openelm laguna talkie muse-glimmer falcon-h1 minimax-01".split()
SCALED += "dots3note hy_v4 mistral3-temperature kimi-linear kimi-k3".split()
CASES = [replace(case, full=True) if case.name in SCALED else case for case in CASES]
CASES += [replace(named[name], name=f"{name}-full", full=True) for name in ["qwen35", "qwen35moe", "qwen3next", "qwen4exp", "deepseek32", "bailingmoe3"]]
MIXED_AND_DENSE = [f"ffn_{name}.weight" for name in "up gate down gate_inp up_exps gate_exps down_exps up_shexp gate_shexp down_shexp".split()]
CASES += [replace(named["hy_v3"], name="hy_v3-full", tensors=MIXED_AND_DENSE, full=True)]
