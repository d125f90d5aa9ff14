import { blockLayout, dequantize, type GgmlType, type QuantizableType, quantize } from "@centella/quant";

/** Rows of a tensor to be stored in another type. */
export interface RowsJob {
  readonly from: GgmlType;
  readonly to: QuantizableType;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Importance of the columns, for all of these rows. */
  readonly importance: Float32Array | undefined;
}

/** No scale of a block can leave the range of f16 where all its values are below this. */
const harmless = 1024;

/** Frees memory at once. Garbage collection counts objects, not the megabytes that they hold. */
export function release(bytes: Uint8Array<ArrayBuffer>): void {
  const buffer: ArrayBuffer & { transfer?(length: number): ArrayBuffer } = bytes.buffer;
  buffer.transfer?.(0);
}

let scratch = new Float32Array(0);

/** Memory that all jobs of a thread share, so that none of it waits for garbage collection. */
function scratchOf(elements: number): Float32Array<ArrayBuffer> {
  if (scratch.length < elements) scratch = new Float32Array(elements);
  return scratch.subarray(0, elements);
}

/**
 * The same rows as blocks of `to`.
 * @throws {QuantError} `not-finite` for values that are no finite numbers
 * @throws {RangeError} for values that `to` cannot hold
 */
export function convertRows({ from, to, bytes, importance }: RowsJob): Uint8Array<ArrayBuffer> {
  const { blockElements, blockBytes } = blockLayout(from);
  const values = scratchOf((bytes.length / blockBytes) * blockElements);
  dequantize(from, bytes, values);
  const target = blockLayout(to);
  const out = new Uint8Array((values.length / target.blockElements) * target.blockBytes);
  quantize(to, values, out, importance === undefined ? {} : { imatrix: importance });
  if (isHarmless(values)) return out;
  dequantize(to, out, values);
  const bad = values.find((value) => !Number.isFinite(value));
  if (bad !== undefined) throw new RangeError(`values beyond what ${to} can hold`);
  return out;
}

function isHarmless(values: Float32Array): boolean {
  for (const value of values) if (!(Math.abs(value) < harmless)) return false;
  return true;
}
