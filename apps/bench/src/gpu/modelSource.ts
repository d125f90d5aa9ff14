import { blockLayout, tensorBytes } from "@centella/quant";
import { randomBlocks, type WeightType } from "../model/blocks.ts";
import { modelHeader, vectorOf } from "../model/generate.ts";
import { padding } from "../model/ggufWriter.ts";
import type { ModelShape } from "../model/shapes.ts";
import { type FileType, type TensorPlan, tensorPlans } from "../model/tensors.ts";
import { seedOf } from "../stats/random.ts";

/** Elements of the random weights that a tensor repeats: an odd number of blocks, so that rows differ. */
const poolElements = 256 * 4099;

/** A part of the file: its bytes are those of `data`, repeated. */
interface Piece {
  readonly start: number;
  readonly length: number;
  readonly data: Uint8Array;
}

/**
 * A model file with random weights that exists only while it is read: 8 billion weights take minutes to write. A tensor repeats a million
 * random weights, which no kernel notices.
 */
export class ModelSource {
  readonly size: number;
  readonly #pieces: readonly Piece[];

  constructor(name: string, shape: ModelShape, type: FileType) {
    const { header, total } = modelHeader(name, shape, type);
    const pools = new Map<string, Uint8Array>();
    const pieces: Piece[] = [{ start: 0, length: header.length, data: header }];
    let start = header.length;
    for (const plan of tensorPlans(shape, type)) {
      const length = tensorBytes(plan.type, plan.shape);
      pieces.push({ start, length, data: dataOf(plan, shape, pools) });
      start += length + padding(length);
    }
    this.size = total;
    this.#pieces = pieces;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    await this.readInto(bytes, offset);
    return bytes;
  }

  async readInto(target: Uint8Array, offset: number): Promise<void> {
    // Bytes between the pieces.
    target.fill(0);
    for (const { start, length: size, data } of this.#pieces) {
      const end = Math.min(start + size, offset + target.length);
      for (let at = Math.max(start, offset); at < end; ) {
        const from = (at - start) % data.length;
        const part = data.subarray(from, from + end - at);
        target.set(part, at - offset);
        at += part.length;
      }
    }
  }
}

function dataOf({ name, type, shape, scale }: TensorPlan, model: ModelShape, pools: Map<string, Uint8Array>): Uint8Array {
  if (type === "f32") return new Uint8Array(vectorOf(name, shape[0]!, model, seedOf(name)).buffer);
  const key = `${type} ${scale}`;
  const pool = pools.get(key) ?? randomPool(type, scale, seedOf(key));
  pools.set(key, pool);
  return pool;
}

function randomPool(type: WeightType, scale: number, seed: number): Uint8Array {
  const { blockElements } = blockLayout(type);
  return randomBlocks(type, Math.floor(poolElements / blockElements) * blockElements, seed, scale);
}
