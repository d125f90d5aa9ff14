import type { TypedArray } from "@centella/core";
import { typedArrayOf } from "@centella/core/backend";
import type { VariantPlan } from "./variant.ts";

/** Writes the inputs of a run to a block of page-locked memory, laid out as the upload block. */
export class UploadStaging {
  readonly #dims: Uint32Array;
  readonly #inputs: ReadonlyMap<string, TypedArray>;

  constructor({ uploadBytes, inputs }: VariantPlan, { buffer, byteOffset }: Uint8Array<ArrayBuffer>) {
    this.#dims = new Uint32Array(buffer, byteOffset, uploadBytes / 4);
    const uploaded = [...inputs].filter(([, { region }]) => region.kind === "upload");
    this.#inputs = new Map(
      uploaded.map(([name, { dtype, offset }]) => {
        const type = typedArrayOf(dtype);
        return [name, new type(buffer, byteOffset + offset, (uploadBytes - offset) / type.BYTES_PER_ELEMENT)];
      }),
    );
  }

  fill(dims: Uint32Array, host: ReadonlyMap<string, { readonly data: TypedArray }>): void {
    this.#dims.set(dims);
    for (const [name, { data }] of host) this.#inputs.get(name)?.set(data);
  }
}
