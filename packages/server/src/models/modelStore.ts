import type { Model } from "@centella/llm";
import { ApiError } from "../errors.ts";
import type { Events } from "../events.ts";
import type { Limits } from "../limits.ts";
import { ModelEntry, type ModelLoader } from "./modelEntry.ts";

/** A loaded model, which its owner disposes of, or one that the server loads and disposes of. */
export type ServedModel = Model | ModelLoader;

/** State of a server's models: what `/health` reports. */
export type Health = { readonly status: "ok" } | { readonly status: "loading"; readonly progress: number } | { readonly status: "failed" };

/** The models of a server by name. */
export class ModelStore {
  readonly #entries: ReadonlyMap<string, ModelEntry>;

  constructor(models: Readonly<Record<string, ServedModel>>, limits: Limits, events: Events) {
    this.#entries = new Map(Object.entries(models).map(([name, served]) => [name, new ModelEntry(name, served, limits, events)]));
  }

  get all(): readonly ModelEntry[] {
    return [...this.#entries.values()];
  }

  /** The model of this name, or the first one without a name. @throws {ApiError} 404 for an unknown name */
  entry(name?: string): ModelEntry {
    const [first] = this.#entries.values();
    const found = name === undefined ? first : this.#entries.get(name);
    if (found !== undefined) return found;
    const names = [...this.#entries.keys()].join(", ");
    throw new ApiError(404, "model_not_found", `model: expected one of ${names}, got ${JSON.stringify(name)}`, { param: "model" });
  }

  get health(): Health {
    const { all } = this;
    if (all.some(({ state }) => state === "failed")) return { status: "failed" };
    if (!all.some(({ isStarting }) => isStarting)) return { status: "ok" };
    const progress = all.reduce((sum, each) => sum + (each.isStarting ? each.progress : 1), 0) / all.length;
    return { status: "loading", progress: Math.floor(progress * 1000) / 1000 };
  }

  /** Disposes of the models that the server has loaded. */
  async close(): Promise<void> {
    await Promise.all(this.all.map((entry) => entry.close()));
  }
}
