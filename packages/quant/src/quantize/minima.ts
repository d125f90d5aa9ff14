import { byteArray, check, floatArray } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { halfAt } from "../floats/half.ts";
import { signedAt } from "../types/signed.ts";
import { type BlockType, blockLayout, rowBytes } from "../types/types.ts";
import { activationType } from "./activations.ts";
import { quantizeRow } from "./quantizeRow.ts";

/**
 * For weights with a minimum per block (q4_1, q5_1), ggml multiplies that minimum by the sum of the activations that a q8_1 block stores,
 * an f16 of its own. This is how far each stored sum is from the sum of the rounded activations: with `a` as {@link roundActivations}
 * gives it and `m` as {@link blockMinima} does, ggml's product of a row is `sum(a[i] * w[i]) + sum(error[block] * m[block])`.
 * `row [n] -> [n / 32]`; undefined for the other types, whose products need no stored sums.
 * @throws {QuantError} `length` if `n` is no whole number of blocks
 */
export function activationSumErrors(weightType: BlockType, row: Float32Array): Float32Array | undefined {
  blockLayout(weightType);
  check("activationSumErrors", "row", row, floatArray);
  if (activationType[weightType] !== "q8_1" || weightType === "q8_1") return undefined;
  const bytes = new Uint8Array(rowBytes("q8_1", row.length));
  quantizeRow("q8_1", row, bytes, "x86");
  const { blockBytes } = blockLayout("q8_1");
  return Float32Array.from({ length: bytes.length / blockBytes }, (_, block) => {
    const at = block * blockBytes;
    let sum = 0;
    for (let j = 0; j < 32; j++) sum += signedAt(bytes, at + 4 + j);
    return halfAt(bytes, at + 2) - halfAt(bytes, at) * sum;
  });
}

/**
 * The minimum `m` of each block of q4_1 or q5_1: `w = d * q + m`. `bytes` are whole blocks.
 * @throws {QuantError} `unsupported-type` for other types, `length` if `bytes` are no whole number of blocks
 */
export function blockMinima(weightType: BlockType, bytes: Uint8Array): Float32Array {
  blockLayout(weightType);
  check("blockMinima", "bytes", bytes, byteArray);
  if (weightType !== "q4_1" && weightType !== "q5_1") {
    throw new QuantError("unsupported-type", `blockMinima: expected q4_1 or q5_1, got ${weightType}`);
  }
  const { blockBytes } = blockLayout(weightType);
  if (bytes.length % blockBytes !== 0) {
    throw new QuantError("length", `blockMinima: expected whole blocks of ${blockBytes} bytes, got ${bytes.length} bytes`);
  }
  return Float32Array.from({ length: bytes.length / blockBytes }, (_, block) => halfAt(bytes, block * blockBytes + 2));
}
