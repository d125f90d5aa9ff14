"""Writes test/fixtures with gguf-py, llama.cpp's own writer: python scripts/fixtures.py (needs `pip install gguf`)."""
import builtins
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf.scripts import gguf_convert_endian

out = Path(__file__).parent.parent / "test" / "fixtures"
out.mkdir(exist_ok=True)


def write(path, endianess, with_blocks=False, **split):
    random = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "test", endianess=endianess, **split)
    writer.add_string("general.name", "Día")
    writer.add_uint16("a.u16", 0x1234)
    writer.add_int32("a.i32", -5)
    writer.add_float32("a.f32", 0.5)
    writer.add_float64("a.f64", np.pi)
    writer.add_uint64("a.u64", 2**60 + 1)
    writer.add_bool("a.bool", True)
    writer.add_array("ids", [1, -2, 70000])
    writer.add_array("scores", [0.25, -1.5])
    writer.add_token_list(["a", "ñandú", ""])
    # gguf_convert_endian knows no integer tensors.
    plain = (("t.f32", np.float32), ("t.f16", np.float16), ("t.i32", np.int32))
    for name, dtype in plain[:2] if with_blocks else plain:
        writer.add_tensor(name, (random.standard_normal((3, 8)) * 100).astype(dtype))
    if with_blocks:
        weights = random.standard_normal((2, 256)).astype(np.float32)
        for kind in ("Q4_0", "Q8_0"):
            blocks = gguf.quants.quantize(weights, gguf.GGMLQuantizationType[kind])
            writer.add_tensor(f"t.{kind}", blocks, raw_dtype=gguf.GGMLQuantizationType[kind])
        # K-quants have no quantiser in gguf-py; random bytes with tame f16 scales serve as well.
        for kind, size, scales in (("Q4_K", 144, (0, 2)), ("Q6_K", 210, (208,))):
            blocks = random.integers(0, 256, (2, size), dtype=np.uint8)
            for at in scales:
                blocks[:, at : at + 2] = np.array([0.01, 0.02], dtype="<f2").view(np.uint8).reshape(2, 2)
            writer.add_tensor(f"t.{kind}", blocks, raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


write(out / "little.gguf", gguf.GGUFEndian.LITTLE)
write(out / "big.gguf", gguf.GGUFEndian.BIG)
write(out / "split.gguf", gguf.GGUFEndian.LITTLE, split_max_tensors=1)
write(out / "blocks.gguf", gguf.GGUFEndian.LITTLE, with_blocks=True)

(out / "blocks-big.gguf").write_bytes((out / "blocks.gguf").read_bytes())
builtins.input = lambda prompt="": "YES"
sys.argv = ["convert", str(out / "blocks-big.gguf"), "big"]

gguf_convert_endian.main()
