import type { TensorSpec } from "@centella/core";
import { alignedBytes, bucketElements, type KernelCall, type Parameter } from "./kernel.ts";

/** Hands out scratch memory of a call. */
export class Scratch {
  #bytes = 0;

  /** Memory for a tensor of f32. */
  take(call: KernelCall, { shape }: TensorSpec): Parameter {
    return this.takeBytes(4 * bucketElements(call, shape));
  }

  takeBytes(bytes: number): Parameter {
    const offset = this.#bytes;
    this.#bytes += alignedBytes(bytes);
    return { kind: "scratch", bytes, ...(offset > 0 && { offset }) };
  }
}
