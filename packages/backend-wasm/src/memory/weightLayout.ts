import type { ConcreteSpec, DType } from "@centella/core";
import { byteLength, elementCount, type Lowered, layoutOf, type Persistent, tupleOf, usesOf } from "@centella/core/backend";
import type { BlockType } from "@centella/quant";
import { type FormatName, formatNameOf } from "../formats/index.ts";
import { groupedBytes, type Interleaving } from "../formats/interleave.ts";
import { traitsOf } from "../kernels/traits.ts";
import { lazyPart } from "../linking/lazyParts.ts";

/** Format to interleave a persistent in: block matrices whose uses in all programs can read it. */
export function chooseInterleaving(persistent: Persistent, programs: readonly Lowered[]): Interleaving {
  return programs.every((lowered) => isReadableInterleaved(persistent, lowered)) ? formatNameOf(persistent.spec.dtype) : undefined;
}

/** Whether every use in a program can read interleaved rows. */
export function isReadableInterleaved({ name, spec: { shape } }: Persistent, lowered: Lowered): boolean {
  const storage = lowered.persistents.find((used) => used.name === name)?.storage;
  if (shape.length < 2 || lowered.outputs.some(({ operand }) => operand.storage === storage)) return false;
  if (storage === undefined) return true;
  return usesOf(lowered, storage).every(
    ({ op, input, params, spec }) => spec.shape.join() === shape.join() && traitsOf(op).layoutOf?.(input, params) === "interleaved",
  );
}

/** Matrices of one shape, one after another. */
export interface Matrices {
  readonly count: number;
  readonly rows: number;
  readonly k: number;
}

/** The matrices of a tensor of two or more axes. */
export function matricesOf({ shape }: Pick<ConcreteSpec, "shape">): Matrices {
  const [rows, k] = tupleOf(shape.slice(-2), 2);
  return { count: elementCount(shape.slice(0, -2)), rows, k };
}

/** Bytes of a tensor with interleaved rows. */
export function interleavedBytes(spec: Pick<ConcreteSpec, "shape">, form: FormatName): number {
  const { count, rows, k } = matricesOf(spec);
  return count * groupedBytes(form, rows, k);
}

/** Bytes of a weight that is only multiplied with or looked up in, like a model's. */
export function matrixBytes(spec: ConcreteSpec): number {
  const form = spec.shape.length < 2 ? undefined : formatNameOf(spec.dtype);
  return form === undefined ? byteLength(spec) : interleavedBytes(spec, form);
}

/** Converts whole blocks of `dtype` to blocks of `form`. */
export function toForm(dtype: DType, form: FormatName, bytes: Uint8Array): Uint8Array {
  if (form === dtype) return bytes;
  const { elements, bytes: blockBytes } = layoutOf(dtype);
  const count = (bytes.length / blockBytes) * elements;
  const [codes, steps] = [new Int8Array(count), new Float32Array(count / 16)];
  lazyPart("codecs").toSteps(dtype as BlockType, bytes, codes, steps);
  // A block of scaled8: two steps, 32 codes.
  const blocks = new Uint8Array((count / 32) * 40);
  const [stepBytes, codeBytes] = [new Uint8Array(steps.buffer), new Uint8Array(codes.buffer)];
  for (let block = 0; 32 * block < count; block++) {
    blocks.set(stepBytes.subarray(8 * block, 8 * block + 8), 40 * block);
    blocks.set(codeBytes.subarray(32 * block, 32 * block + 32), 40 * block + 8);
  }
  return blocks;
}
