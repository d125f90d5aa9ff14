"""Writes test/fixtures/tokenizers.json: small vocabularies of our own and the ids that llama.cpp gives for texts. As family_goldens.py.

The pairs are learnt from the words of the texts themselves.
"""

import collections
import ctypes as C
import json
import pathlib
import re

from family_cases import Signed, kind
from family_goldens import Library, declare

OUT = pathlib.Path(__file__).parent.parent / "test/fixtures/tokenizers.json"
SPACE = "\u2581"
CONFIG = {"context_length": 64, "embedding_length": 8, "block_count": 1, "feed_forward_length": 8, "attention.head_count": 1}
CONFIG["attention.layer_norm_rms_epsilon"] = 1e-5
TEXTS = [
    "",
    "Hello world, hello there",
    "  two  spaces   three    four",
    " lead",
    "trail ",
    "line one\nline two\n\n\nthree\r\nfour",
    "tab\tand\t\ttabs",
    "123 12345 1 2",
    "\u00fcber gro\u00df \u00fcbergro\u00df",
    "\u65e5\u672c\u8a9e and \U0001f600 emoji",
    "don't we're",
    "a\u2581b",
    "<|turn> x <bos>",
    "\n\n",
    "the other the other the",
    "e\ne",
    "\u00a0nbsp\u3000wide",
]
# llama.cpp ends the process where two spaces stand side by side in a word of this pre-tokenizer.
SINGLE_SPACED = [text for text in TEXTS if not re.search(r"\s \s*| \s", text)]
WORDS = "Hello \u00e9t\u00e9 \u00c9t\u00e9, \u00dcber \u65e5\u672c A\u030a a\u030a \u00c5 \u00e5 \u0915\u093f A\u20dd \u30ac \uac01 \u00df \u0130 \uff21 x\u0301"


def pairs(texts, count, joins):
    words = collections.Counter(word for text in texts for word in re.findall(rf"[{SPACE} ]?\w+|\W+", text))
    pieces = {word: list(word) for word in words}
    merges = []
    while len(merges) < count:
        found = collections.Counter()
        for word, times in words.items():
            for pair in zip(pieces[word], pieces[word][1:]):
                found[pair] += times
        if not joins:
            found = {pair: times for pair, times in found.items() if pair[0][-1] == SPACE or pair[1][0] != SPACE}
        found = {pair: times for pair, times in found.items() if not any(" " in part or "<" in part for part in pair)}
        if not found:
            break
        best = min(found, key=lambda pair: (-found[pair], pair))
        merges.append(best)
        for word, parts in pieces.items():
            joined = []
            for part in parts:
                if joined and (joined[-1], part) == best:
                    joined[-1] += part
                else:
                    joined.append(part)
            pieces[word] = joined
    return merges


def bytePair(model, pre, space, texts, joins=True):
    """joins: whether pairs join words."""
    merges = pairs([text.replace(" ", space) for text in TEXTS], 60, joins)
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", *[f"<0x{byte:02X}>" for byte in range(256)], "<|turn>"]
    types = [3, 3, 3, 2, *[6] * 256, 4]
    for text in [*sorted({char for merge in merges for part in merge for char in part}), *[a + b for a, b in merges]]:
        if text not in tokens:
            tokens.append(text)
            types.append(1)
    keys = {"model": model, "tokens": tokens, "token_type": Signed(types), "scores": [0.0] * len(tokens), "merges": [" ".join(pair) for pair in merges]}
    keys |= {"bos_token_id": 2, "eos_token_id": 1, "unknown_token_id": 3, "padding_token_id": 0}
    return keys | ({"pre": pre} if pre else {}), texts


def wordPiece(options):
    words = "hello Hello \u00e9t\u00e9 ete \u00c9t\u00e9 Ete \u00fcber uber \u00dcber Uber \u65e5 \u672c a A \u00e5 \u00c5 \u0915 \u0915\u093f a\u20dd \u30ac \u30ab \uac01 \u1100 \u00df i \uff41 \uff21 x x\u0301".split()
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *[SPACE + word for word in words], ","]
    keys = {"model": "bert", "tokens": tokens, "token_type": Signed([3] * 5 + [1] * (len(tokens) - 5)), "token_type_count": 2}
    keys |= {"bos_token_id": 2, "cls_token_id": 2, "seperator_token_id": 3, "unknown_token_id": 1}
    return keys | {f"normalizer.{key}": value for key, value in options.items()}, [WORDS]


def escaped(data):
    """As files of RWKV spell bytes."""
    spelt = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r", 0x5C: "\\\\"}
    try:
        return "".join(spelt.get(ord(c), c if c.isprintable() else "".join(f"\\x{b:02x}" for b in c.encode())) for c in data.decode())
    except UnicodeDecodeError:
        return "".join(f"\\x{b:02x}" for b in data)


def longestMatch():
    """The longest tokens from the start, of bytes."""
    words = {word for text in TEXTS for word in re.findall(r" ?\w+|\s+", text)}
    parts = sorted(word.encode()[:n] for word in words for n in range(2, len(word.encode()) + 1, 2))
    tokens = ["<s>", *[escaped(bytes([byte])) for byte in range(256)], *dict.fromkeys(escaped(part) for part in parts)]
    tokens = list(dict.fromkeys(tokens))
    return {"model": "rwkv", "tokens": tokens, "token_type": Signed([3] + [1] * (len(tokens) - 1)), "bos_token_id": 0, "eos_token_id": 0}, TEXTS


def reverseUnigram():
    """Scores of the pieces of words, and tokens for bytes."""
    words = {word for text in TEXTS for word in re.findall(r" ?\w+|\s+", text)}
    pieces = sorted({word[start:end] for word in words for start in range(len(word)) for end in range(start + 1, min(len(word), start + 4) + 1)})
    pieces = [piece for index, piece in enumerate(pieces) if index % 3 or len(piece) == 1 and index % 2]
    tokens = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>", *[f"<0x{byte:02X}>" for byte in range(256)], *pieces]
    scores = [0.0] * 260 + [-(3.0 + index * 7 % 11) / len(piece) for index, piece in enumerate(pieces)]
    types = Signed([2, 3, 3, 3, *[6] * 256, *[1] * len(pieces)])
    return {"model": "plamo2", "tokens": tokens, "scores": scores, "token_type": types, "add_bos_token": True}, [*TEXTS, "\ufeffthe \ufeff"]


CASES = {
    "rwkv": longestMatch(),
    "plamo2": reverseUnigram(),
    "gemma4": bytePair("gpt2", "gemma4", SPACE, TEXTS),
    "granite-embed-multi-311m": bytePair("gpt2", "granite-embed-multi-311m", SPACE, TEXTS),
    "sarvam-moe": bytePair("gpt2", "sarvam-moe", SPACE, TEXTS, joins=False),
    "the model gemma4": bytePair("gemma4", None, SPACE, TEXTS),
    "whitespace": bytePair("gpt2", "whitespace", " ", SINGLE_SPACED),
    **{f"bert {options}": wordPiece(options) for options in [{}, {"lowercase": False}, {"strip_accents": False}, {"lowercase": False, "strip_accents": True}]},
}


def main():
    library = Library()
    tokenize = declare(library.llama, "llama_tokenize", C.c_int32, C.c_void_p, C.c_char_p, C.c_int32, C.POINTER(C.c_int32), C.c_int32, C.c_bool, C.c_bool)
    goldens = {}
    for name, (keys, texts) in CASES.items():
        entries = [("general.architecture", "string", "llama")]
        entries += [(f"llama.{key}", kind(value), value) for key, value in CONFIG.items()]
        entries += [(f"tokenizer.ggml.{key}", kind(value), value) for key, value in keys.items()]
        model, _, _ = library.model(entries, [])

        def ids(text, special):
            data = text.encode()
            out = (C.c_int32 * (4 * len(data) + 8))()
            return list(out[: tokenize(library.vocab(model), data, len(data), out, len(out), special, False)])

        goldens[name] = {"metadata": keys, "ids": [[text, ids(text, False)] for text in texts], "special": [texts[0], ids(texts[0], True)]}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(golden)}" for name, golden in goldens.items())
    OUT.write_text("{\n" + lines + "\n}\n")
    print(f"{len(goldens)} vocabularies")


if __name__ == "__main__":
    main()
