import { byteArray, check, floatArray, typedArray } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { bytes as bytesFrom, type PlaneLayout, planeLayouts } from "../planes/layouts.ts";
import { recode, recodedForm } from "../planes/recode.ts";
import { levelReader, scaleReader, splitBlocks } from "../planes/split.ts";
import { type CodebookType, codebookBlock, codeReader, scaleOf } from "../types/codebook/codebook.ts";
import { codebookTypes, isCodebookName } from "../types/codebook/codebookTypes.ts";
import { type BlockType, blockLayout, rowBytes } from "../types/types.ts";

/** Weights of a step. */
const run = 16;

/** The planes of q8_1 without the sum that each block has for products. */
const q8_1: PlaneLayout = {
  codeBits: 8,
  groupSize: 32,
  d: 0,
  codeOffset: 128,
  codes: { count: 32, pieces: bytesFrom(4), flip: 128 },
};

/**
 * Splits weights into integers and steps: weight `i` is `codes[i] * steps[i >> 4]`, bit for bit what `dequantize` returns. `bytes` are
 * whole blocks; there is one code per weight and one step per 16 weights. For types without minima.
 * @throws {QuantError} `unsupported-type` for types with minima, `length` if lengths do not agree
 */
export function toSteps(type: BlockType, bytes: Uint8Array, codes: Int8Array, steps: Float32Array): void {
  const { blockBytes } = blockLayout(type);
  check("toSteps", "bytes", bytes, byteArray);
  check("toSteps", "codes", codes, typedArray(Int8Array));
  check("toSteps", "steps", steps, floatArray);
  const recoded = recodedForm(type);
  const layout = type === "q8_1" ? q8_1 : (recoded?.layout ?? planeLayouts[type]);
  if (type !== "q8_K" && (layout === undefined || layout.dmin !== undefined))
    throw new QuantError("unsupported-type", `toSteps: expected a type without minima, got ${type}; split it with toPlanes`);
  if (bytes.length !== rowBytes(type, codes.length) || steps.length * run !== codes.length) {
    throw new QuantError(
      "length",
      `toSteps: expected ${rowBytes(type, codes.length)} bytes and ${codes.length / run} steps, got ${bytes.length} and ${steps.length}`,
    );
  }
  if (isCodebookName(type)) splitCodebook(codebookTypes[type], blockBytes, bytes, codes, steps);
  else if (layout === undefined) splitQ8K(bytes, codes, steps);
  else splitPlanes(layout, recoded?.blockBytes ?? blockBytes, recoded === undefined ? bytes : recode(type, bytes), codes, steps);
}

function splitPlanes(layout: PlaneLayout, blockBytes: number, bytes: Uint8Array, codes: Int8Array, steps: Float32Array): void {
  const planes = splitBlocks(layout, blockBytes, bytes);
  const stepOf = scaleReader(layout, planes);
  const levels = Int8Array.from({ length: 2 ** layout.codeBits }, (_, code) => levelReader(layout)(code));
  for (let i = 0; i < codes.length; i++) codes[i] = levels[planes.codes[i]!]!;
  for (let i = 0; i < steps.length; i++) steps[i] = stepOf(Math.floor((i * run) / layout.groupSize));
}

/** Without the detour through planes, which takes twice as long. */
function splitCodebook(type: CodebookType, blockBytes: number, bytes: Uint8Array, codes: Int8Array, steps: Float32Array): void {
  const read = codeReader(type);
  const levels = Int8Array.from(type.levels);
  for (let at = 0, to = 0; at < bytes.length; at += blockBytes, to += codebookBlock) {
    const block = read(bytes, at);
    for (let i = 0; i < codebookBlock; i++) codes[to + i] = levels[block[i]!]!;
    for (let i = 0; i < codebookBlock; i += run) steps[(to + i) / run] = scaleOf(type, bytes, at, Math.floor(i / type.groupSize));
  }
}

/** q8_K, 256 weights in 292 bytes: `d` f32 | `qs` 256 bytes with a sign | sums. Source: `block_q8_K` of ggml-common.h. */
function splitQ8K(bytes: Uint8Array, codes: Int8Array, steps: Float32Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0, to = 0; at < bytes.length; at += 292, to += 256) {
    steps.fill(view.getFloat32(at, true), to / run, to / run + 256 / run);
    for (let i = 0; i < 256; i++) codes[to + i] = bytes[at + 4 + i]!;
  }
}
