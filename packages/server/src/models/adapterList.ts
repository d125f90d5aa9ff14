import type { AdapterScales } from "@centella/llm";
import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import type { AdaptedModel } from "./adaptedModel.ts";

/** An adapter by its number, as requests name it, and its scale. */
export interface NumberedScale {
  readonly id: number;
  readonly scale: number;
}

/** The field `lora` of requests, and the body of `/lora-adapters`. */
export const numberedScales: z.ZodMiniArray<z.ZodMiniObject<{ id: z.ZodMiniNumber; scale: z.ZodMiniNumber }>> = z.array(
  z.strictObject({ id: z.int(), scale: z.number() }),
);

/** The adapters of all models, by their numbers. */
export class AdapterList {
  readonly #all: readonly AdaptedModel[];

  constructor(all: readonly AdaptedModel[]) {
    this.#all = all;
  }

  /** As llama-server lists them. Paths of files stay in the server. */
  describe(): readonly (NumberedScale & { readonly path: string })[] {
    return this.#all.map(({ name, scale }, id) => ({ id, path: name, scale }));
  }

  /** Sets the scales of the models of adapters. Those that are left out get 0. @throws {ApiError} 400 for an unknown number */
  setScales(given: readonly NumberedScale[]): void {
    const scales = given.map((each, i) => [this.#find(each, `adapters[${i}].id`), each.scale] as const);
    for (const each of this.#all) each.scale = 0;
    for (const [adapter, scale] of scales) adapter.scale = scale;
  }

  /** The adapters for a request to a model, or to one of its adapters. @throws {ApiError} 400 for a number of another model's adapter */
  scalesOf(model: string, given: readonly NumberedScale[]): AdapterScales {
    const scales = given.map((each, i) => {
      const param = `lora[${i}].id`;
      const { base, name, adapter } = this.#find(each, param);
      if (base.name !== model && this.#baseOf(model) !== base.name)
        throw new ApiError(400, "invalid_value", `${param}: expected an adapter of ${model}, got ${each.id}, which is ${name}`, { param });
      return [adapter, each.scale] as const;
    });
    return Object.fromEntries(scales);
  }

  #find({ id }: NumberedScale, param: string): AdaptedModel {
    const found = this.#all[id];
    if (found === undefined) throw new ApiError(400, "invalid_value", `${param}: expected the id of an adapter, got ${id}`, { param });
    return found;
  }

  #baseOf(model: string): string | undefined {
    return this.#all.find(({ name }) => name === model)?.base.name;
  }
}
