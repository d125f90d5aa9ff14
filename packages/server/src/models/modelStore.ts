import { ApiError } from "../errors.ts";
import type { Events, RequestOrigin } from "../events.ts";
import type { Limits } from "../limits.ts";
import { AdaptedModel } from "./adaptedModel.ts";
import { AdapterList } from "./adapterList.ts";
import type { Engine } from "./engine.ts";
import { type Lease, ModelEntry, type ModelLoader } from "./modelEntry.ts";
import type { ModelLibrary } from "./modelLibrary.ts";

/** A loaded model, which its owner disposes of, or one that the server loads and disposes of. */
export type ServedModel = Engine | ModelLoader;

/** What a name stands for: a model, or one with an adapter. */
export type NamedModel = ModelEntry | AdaptedModel;

/** State of a server's models: what `/health` reports. */
export type Health = { readonly status: "ok" } | { readonly status: "loading"; readonly progress: number } | { readonly status: "failed" };

/** Most names that requests may give to models. */
const maxCopies = 1000;

/** The models of a server by name: those that it was created with, and those that requests have added from its library. */
export class ModelStore {
  readonly library: ModelLibrary | undefined;
  /** The adapters of the models that the server was created with. */
  readonly adapters: AdapterList;
  readonly #entries = new Map<string, ModelEntry>();
  readonly #adapted: ReadonlyMap<string, AdaptedModel>;
  /** Further names. */
  readonly #copies = new Map<string, NamedModel>();
  /** Names that requests cannot remove. */
  readonly #fixed: ReadonlySet<string>;
  readonly #limits: Limits;
  readonly #events: Events;

  constructor(models: Readonly<Record<string, ServedModel>>, library: ModelLibrary | undefined, limits: Limits, events: Events) {
    this.library = library;
    this.#limits = limits;
    this.#events = events;
    for (const [name, served] of Object.entries(models))
      this.#entries.set(name, new ModelEntry(name, served, limits, events, { onLoad: this.#makeRoom }));
    const adapted = this.all.flatMap((base) => Object.entries(base.adapters).map(([name, scale]) => new AdaptedModel(base, name, scale)));
    for (const { name, base } of adapted) events.emit({ type: "model", name, state: "offered", parent: base.name });
    this.adapters = new AdapterList(adapted);
    this.#adapted = new Map(adapted.map((each) => [each.name, each]));
    this.#fixed = new Set([...this.#entries.keys(), ...this.#adapted.keys()]);
  }

  /** The models, without names for those with an adapter. */
  get all(): readonly ModelEntry[] {
    return [...this.#entries.values()];
  }

  /** Every name and its model. */
  get named(): readonly (readonly [string, NamedModel])[] {
    return [...this.#entries, ...this.#adapted, ...this.#copies];
  }

  /** The model of this name, or the first one without a name. @throws {ApiError} 404 for an unknown name */
  entry(name?: string): NamedModel {
    const found = this.find(name);
    if (found === undefined) throw this.#unknown(name!);
    return found;
  }

  /**
   * A model, until the lease is released. A name of the library is added to the models, until it cannot be loaded.
   * @throws {ApiError} 404 for an unknown name; as `ModelEntry.use`
   */
  async use(name?: string, origin?: RequestOrigin): Promise<Lease> {
    return (this.find(name) ?? this.#added(name!)).use(origin);
  }

  /** Returns the result of `work` with a model, which stays loaded meanwhile. @throws as {@link use} */
  async with<T>(name: string | undefined, work: (lease: Lease) => T | Promise<T>): Promise<T> {
    const lease = await this.use(name);
    try {
      return await work(lease);
    } finally {
      lease.release();
    }
  }

  /** The model of this name, or the first one without a name. */
  find(name: string | undefined): NamedModel | undefined {
    if (name === undefined) return this.#entries.values().next().value;
    return (
      this.#entries.get(name) ?? this.#adapted.get(name) ?? this.#copies.get(name) ?? this.#entries.get(this.library?.nameOf(name) ?? name)
    );
  }

  #added(name: string): ModelEntry {
    const known = this.library?.nameOf(name);
    if (known === undefined) throw this.#unknown(name);
    const onFailure = (error: unknown): ApiError => {
      if (this.#entries.get(known) === entry) this.#entries.delete(known);
      return libraryError(known, error);
    };
    const entry = new ModelEntry(known, this.library!.loader(known), this.#limits, this.#events, { onFailure, onLoad: this.#makeRoom });
    this.#entries.set(known, entry);
    return entry;
  }

  /** Unloads models that were not used for the longest time, until all of them take no more memory than they may. */
  readonly #makeRoom = (loaded: ModelEntry): void => {
    let bytes = this.all.reduce((sum, { current }) => sum + bytesOf(current), 0);
    const unused = this.all.filter((entry) => entry !== loaded && entry.unusedSince !== undefined);
    for (const entry of unused.sort((a, b) => a.unusedSince! - b.unusedSince!)) {
      if (bytes <= this.#limits.maxModelMemory) return;
      bytes -= bytesOf(entry.current);
      void entry.unload();
    }
  };

  #unknown(name: string): ApiError {
    const names = this.named.map(([known]) => known).join(", ");
    const [more, hint] =
      this.library === undefined ? ["", "; this server pulls no models"] : [` or a name such as ${this.library.form}`, ""];
    return new ApiError(404, "model_not_found", `model: expected one of ${names}${more}, got ${JSON.stringify(name)}${hint}`, {
      param: "model",
    });
  }

  /** Gives a model a further name. @throws {ApiError} for an unknown source, and a name that is taken */
  copy(source: string, name: string): void {
    const entry = this.entry(source);
    if (this.find(name) !== undefined || this.library?.nameOf(name) !== undefined)
      throw new ApiError(400, "invalid_value", `destination: expected a new name, got ${JSON.stringify(name)}`, { param: "destination" });
    if (this.#copies.size >= maxCopies)
      throw new ApiError(400, "unsupported_value", `destination: expected at most ${maxCopies} copies, got one more; delete some`);
    this.#copies.set(name, entry);
  }

  /** Removes a further name, or a model of the library with its file. @throws {ApiError} for other models, and one in use */
  async remove(name: string): Promise<void> {
    if (this.#copies.delete(name)) return;
    const entry = this.find(name);
    const known = entry?.name ?? this.library?.nameOf(name);
    if (known === undefined) throw this.#unknown(name);
    if (this.#fixed.has(known))
      throw new ApiError(
        400,
        "unsupported_value",
        `model: expected one that was pulled or copied, got ${known}, with which the server was started`,
        { param: "model" },
      );
    this.#entries.delete(known);
    if (entry !== undefined && entry.base === undefined && entry.state !== "unloaded" && !(await entry.unload())) {
      this.#entries.set(known, entry);
      throw new ApiError(400, "unsupported_value", `model: expected a model that no request uses, got ${known}; try again later`, {
        param: "model",
      });
    }
    for (const [copy, of] of this.#copies) if (of === entry) this.#copies.delete(copy);
    try {
      await this.library!.remove(known);
    } catch (error) {
      throw libraryError(known, error);
    }
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

/** Memory of a model that may be loaded. */
function bytesOf(model: Engine | undefined): number {
  const { weights = 0, cache = 0 } = model?.info.memory ?? {};
  return weights + cache;
}

/** What a failure of the library means for the client. */
export function libraryError(name: string, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code } = error as { readonly code?: unknown };
  if (code === "missing")
    return new ApiError(404, "model_not_found", `model: expected a model that exists, got ${name}`, { param: "model", cause: error });
  const message =
    code === "busy" ? `model ${name}: expected one that is not being changed` : `model ${name}: expected one that can be pulled and loaded`;
  return new ApiError(503, code === "busy" ? "loading" : "internal_error", `${message}, got a failure; try again later`, {
    retryAfter: 5,
    cause: error,
  });
}
