import { byteArray, check, floatArray } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { bfloatToFloat } from "../floats/bfloat.ts";
import { halfAt, halfWordAt } from "../floats/half.ts";
import { codebookDequantizer } from "../types/codebook/codebook.ts";
import { iq1M } from "../types/codebook/iq1_m.ts";
import { iq1S } from "../types/codebook/iq1_s.ts";
import { iq2S } from "../types/codebook/iq2_s.ts";
import { iq2Xs } from "../types/codebook/iq2_xs.ts";
import { iq2Xxs } from "../types/codebook/iq2_xxs.ts";
import { iq3S } from "../types/codebook/iq3_s.ts";
import { iq3Xxs } from "../types/codebook/iq3_xxs.ts";
import { dequantizeIq4Nl } from "../types/iq4_nl.ts";
import { dequantizeIq4Xs } from "../types/iq4_xs.ts";
import { dequantizeMxfp4 } from "../types/mxfp4.ts";
import { dequantizeNvfp4 } from "../types/nvfp4.ts";
import { dequantizeQ1_0 } from "../types/q1_0.ts";
import { dequantizeQ2_0 } from "../types/q2_0.ts";
import { dequantizeQ2_K } from "../types/q2_K.ts";
import { dequantizeQ3_K } from "../types/q3_K.ts";
import { dequantizeQ4_0 } from "../types/q4_0.ts";
import { dequantizeQ4_1 } from "../types/q4_1.ts";
import { dequantizeQ4_K } from "../types/q4_K.ts";
import { dequantizeQ5_0 } from "../types/q5_0.ts";
import { dequantizeQ5_1 } from "../types/q5_1.ts";
import { dequantizeQ5_K } from "../types/q5_K.ts";
import { dequantizeQ6_K } from "../types/q6_K.ts";
import { dequantizeQ8_0 } from "../types/q8_0.ts";
import { dequantizeQ8_1 } from "../types/q8_1.ts";
import { dequantizeQ8_K } from "../types/q8_K.ts";
import { dequantizeTq1_0 } from "../types/tq1_0.ts";
import { dequantizeTq2_0 } from "../types/tq2_0.ts";
import { type DequantizableType, type GgmlType, isDequantizable, rowBytes } from "../types/types.ts";

/** Reads whole blocks; lengths have been checked. */
type Dequantizer = (bytes: Uint8Array, out: Float32Array) => void;

// The formats compute in f64 and round once, on the store to `out`. That is ggml's f32 result because the products that it rounds on
// the way are exact: an f16 scale has 11 significant bits, and the integers it is multiplied with never add more than 13.
const dequantizers: Readonly<Record<DequantizableType, Dequantizer>> = {
  f32(bytes, out) {
    new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(bytes);
  },
  f16(bytes, out) {
    for (let i = 0; i < out.length; i++) out[i] = halfAt(bytes, 2 * i);
  },
  bf16(bytes, out) {
    for (let i = 0; i < out.length; i++) out[i] = bfloatToFloat(halfWordAt(bytes, 2 * i));
  },
  q1_0: dequantizeQ1_0,
  q2_0: dequantizeQ2_0,
  q4_0: dequantizeQ4_0,
  q4_1: dequantizeQ4_1,
  q5_0: dequantizeQ5_0,
  q5_1: dequantizeQ5_1,
  q8_0: dequantizeQ8_0,
  q8_1: dequantizeQ8_1,
  q2_K: dequantizeQ2_K,
  q3_K: dequantizeQ3_K,
  q4_K: dequantizeQ4_K,
  q5_K: dequantizeQ5_K,
  q6_K: dequantizeQ6_K,
  q8_K: dequantizeQ8_K,
  iq1_s: codebookDequantizer(iq1S, 50),
  iq1_m: codebookDequantizer(iq1M, 56),
  iq2_xxs: codebookDequantizer(iq2Xxs, 66),
  iq2_xs: codebookDequantizer(iq2Xs, 74),
  iq2_s: codebookDequantizer(iq2S, 82),
  iq3_xxs: codebookDequantizer(iq3Xxs, 98),
  iq3_s: codebookDequantizer(iq3S, 110),
  iq4_nl: dequantizeIq4Nl,
  iq4_xs: dequantizeIq4Xs,
  tq1_0: dequantizeTq1_0,
  tq2_0: dequantizeTq2_0,
  mxfp4: dequantizeMxfp4,
  nvfp4: dequantizeNvfp4,
};

/**
 * Decodes `bytes`, whole blocks of `type`, to `out`, one f32 per element, bit for bit as ggml does. f32, f16 and bf16 count as types too.
 * `bytes` need not be aligned.
 * @throws {QuantError} `length` if `bytes` are not `rowBytes(type, out.length)`, `unsupported-type` for f64 and integers,
 * `unknown-type` for a name that is no ggml type
 */
export function dequantize(type: GgmlType, bytes: Uint8Array, out: Float32Array): void {
  check("dequantize", "bytes", bytes, byteArray);
  check("dequantize", "out", out, floatArray);
  const expected = rowBytes(type, out.length);
  if (!isDequantizable(type)) {
    throw new QuantError("unsupported-type", `dequantize: expected a float or block type, got ${type}; read its bytes as they are`);
  }
  if (bytes.length !== expected) {
    throw new QuantError("length", `dequantize: expected ${expected} bytes for ${out.length} elements of ${type}, got ${bytes.length}`);
  }
  dequantizers[type](bytes, out);
}
