import type { TypedArray } from "@centella/core";
import { typedArrayOf } from "@centella/core/backend";
import type { VariantPlan } from "./variant.ts";

/** Puts the inputs of a run together in a block of the host's memory, laid out as the upload block. */
export class UploadStaging {
  readonly #image: Uint8Array<ArrayBuffer>;
  readonly #dims: Uint32Array;
  readonly #inputs: ReadonlyMap<string, TypedArray>;

  constructor({ uploadBytes, inputs }: VariantPlan) {
    const block = new ArrayBuffer(4 * Math.ceil(uploadBytes / 4));
    this.#image = new Uint8Array(block, 0, uploadBytes);
    this.#dims = new Uint32Array(block);
    const uploaded = [...inputs].filter(([, { region }]) => region.kind === "upload");
    this.#inputs = new Map(uploaded.map(([name, { dtype, offset }]) => [name, new (typedArrayOf(dtype))(block, offset)]));
  }

  /** The upload block of a run. Valid until the next call. */
  fill(dims: Uint32Array, host: ReadonlyMap<string, { readonly data: TypedArray }>): Uint8Array {
    this.#dims.set(dims);
    for (const [name, { data }] of host) this.#inputs.get(name)?.set(data);
    return this.#image;
  }
}
