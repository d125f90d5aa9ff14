import type { AdapterScales } from "@centella/llm";
import { Admission } from "../admission/admission.ts";
import { ApiError } from "../errors.ts";
import type { Events, RequestOrigin } from "../events.ts";
import { Prefills } from "../generation/prefills.ts";
import type { Limits } from "../limits.ts";
import type { Engine } from "./engine.ts";
import { Slots } from "./slots.ts";

/** What a loader gets. */
export interface LoadContext {
  /** Aborted when the server closes. */
  readonly signal: AbortSignal;
  /** Reports the progress, for `/health`. */
  onProgress(done: number, total: number): void;
}

/** A model that the server loads. */
export interface ModelLoader {
  load(context: LoadContext): Promise<Engine>;
  /** Load the model when the first request needs it, not at the start. Default false. */
  readonly isLazy?: boolean | undefined;
  /** Milliseconds without a request after which the model is disposed of. The next request loads it again. Default: never. */
  readonly idleMs?: number | undefined;
  /**
   * Scales of the LoRA adapters that `load` gives the model, by their names: the adapter `sea` of the model `story` is served as the model
   * `story:sea`.
   */
  readonly adapters?: AdapterScales | undefined;
}

/** A model in use. It is not unloaded before its release. */
export interface Lease {
  readonly name: string;
  readonly model: Engine;
  readonly admission: Admission;
  readonly prefills: Prefills;
  readonly slots: Slots;
  /** Adapters that its name stands for. */
  readonly adapters?: AdapterScales;
  /** Reports that the model has computed what a request wanted. */
  confirm(): void;
  /** Reports that the model's device is lost. */
  lose(error: unknown): void;
  release(): void;
}

interface Loaded {
  readonly model: Engine;
  readonly admission: Admission;
  readonly prefills: Prefills;
  readonly slots: Slots;
}

/** Functions that a {@link ModelEntry} calls. */
export interface EntryHooks {
  /** The model cannot be loaded. Gives the error for clients. */
  readonly onFailure?: (error: unknown) => ApiError;
  /** The model was loaded. */
  readonly onLoad?: (entry: ModelEntry) => void;
}

/** A model under its name: loaded, or to be loaded. */
export class ModelEntry {
  readonly name: string;
  /** Undefined, because it is not another model with an adapter; see `AdaptedModel`. */
  readonly base: undefined;
  /** Time at which the server began to offer the model, in seconds since 1970. */
  readonly created: number = Math.floor(Date.now() / 1000);
  readonly #loader: ModelLoader | undefined;
  readonly #limits: Limits;
  readonly #events: Events;
  readonly #onFailure: ((error: unknown) => ApiError) | undefined;
  readonly #onLoad: ((entry: ModelEntry) => void) | undefined;
  readonly #closing = new AbortController();
  #loaded: Loaded | undefined;
  #loading: Promise<Loaded> | undefined;
  #progress = 0;
  #failure: unknown;
  #isStarting = false;
  #users = 0;
  #lastUsed = 0;
  /** Milliseconds without a request after which the model is disposed of. */
  #idleMs: number | undefined;
  /** Losses of the device since the last result. */
  #losses = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;
  /** Time at which {@link #idle} fires, in milliseconds since 1970. */
  #idleAt: number | undefined;

  /** See {@link EntryHooks}. */
  constructor(name: string, served: Engine | ModelLoader, limits: Limits, events: Events, { onFailure, onLoad }: EntryHooks = {}) {
    this.name = name;
    this.#onLoad = onLoad;
    this.#limits = limits;
    this.#events = events;
    this.#onFailure = onFailure;
    this.#loader = "load" in served ? served : undefined;
    this.#idleMs = this.#loader?.idleMs;
    events.emit({ type: "model", name, state: "offered" });
    if (!("load" in served)) {
      this.#loaded = this.#opened(served);
      events.emit({ type: "model", name, state: "loaded" });
    } else if (served.isLazy !== true) void this.#start();
  }

  /** Scales of its adapters that are models, by name. */
  get adapters(): AdapterScales {
    return this.#loader?.adapters ?? Object.fromEntries((this.current?.info.adapters ?? []).map((name) => [name, 1]));
  }

  get state(): "unloaded" | "loading" | "loaded" | "failed" {
    if (this.#loaded !== undefined) return "loaded";
    if (this.#loading !== undefined) return "loading";
    return this.#failure === undefined ? "unloaded" : "failed";
  }

  /** Whether the model is being loaded because the server starts. */
  get isStarting(): boolean {
    return this.#isStarting;
  }

  /** Progress of loading, from 0 to 1. */
  get progress(): number {
    return this.#progress;
  }

  /** The model, if it is loaded. */
  get current(): Engine | undefined {
    return this.#loaded?.model;
  }

  /** The slots of the model, if it is loaded. */
  get slots(): Slots | undefined {
    return this.#loaded?.slots;
  }

  /** Time of the last request (`performance.now()`), if the model can be unloaded for others and no request uses it. */
  get unusedSince(): number | undefined {
    return this.#loaded !== undefined && this.#loader?.isLazy === true && this.#users === 0 ? this.#lastUsed : undefined;
  }

  /** Time at which the model is disposed of unless a request uses it, in milliseconds since 1970. Undefined: never. */
  get expiresAt(): number | undefined {
    return this.#users > 0 && this.#idleMs !== undefined ? Date.now() + this.#idleMs : this.#idleAt;
  }

  /**
   * The model, until the lease is released. A model that is not loaded is loaded first.
   * @throws {ApiError} 503 while the server starts, and if the model cannot be loaded
   */
  async use(origin?: RequestOrigin): Promise<Lease> {
    if (this.#isStarting)
      throw new ApiError(503, "loading", `model ${this.name}: expected a loaded model, got one that is loading; try again later`, {
        retryAfter: 2,
      });
    this.#users++;
    clearTimeout(this.#idle);
    try {
      const loaded = this.#loaded ?? (await (this.#loading ?? this.#load(origin)));
      let isOver = false;
      const release = (): void => {
        if (!isOver) this.#leave();
        isOver = true;
      };
      const confirm = (): void => {
        if (this.#loaded === loaded) this.#losses = 0;
      };
      return { name: this.name, ...loaded, release, confirm, lose: (error) => this.#lose(loaded, error, origin) };
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  /** Sets the time without a request after which a lazy model is disposed of. Undefined: never. */
  keepFor(idleMs: number | undefined): void {
    if (this.#loader?.isLazy !== true) return;
    this.#idleMs = idleMs;
    if (this.#users === 0) this.#watchIdle();
  }

  /** Disposes of a model that the server has loaded. False if it has not, or a request uses the model. */
  async unload(): Promise<boolean> {
    if (this.#users > 0 || this.#loader === undefined || this.#loaded === undefined) return false;
    clearTimeout(this.#idle);
    await this.#unload();
    return true;
  }

  /** Disposes of the model if the server has loaded it. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#closing.abort(new ApiError(503, "draining", "the server is shutting down"));
    await this.#loading?.catch(() => undefined);
    await this.#unload();
  }

  #opened(model: Engine): Loaded {
    const admission = new Admission(model.info.sequences, this.#limits);
    return { model, admission, slots: new Slots(model, () => admission.admit()), prefills: new Prefills() };
  }

  async #start(): Promise<void> {
    this.#isStarting = true;
    // A failure is the entry's state.
    await this.#load().catch(() => undefined);
    this.#isStarting = false;
  }

  #load(origin?: RequestOrigin): Promise<Loaded> {
    this.#progress = 0;
    this.#failure = undefined;
    this.#loading = this.#loadNow(origin).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #loadNow(origin?: RequestOrigin): Promise<Loaded> {
    const { name } = this;
    this.#events.emit({ type: "model", ...origin, name, state: "loading" });
    try {
      const model = await this.#loader!.load({
        signal: this.#closing.signal,
        onProgress: (done, total) => {
          this.#progress = total > 0 ? done / total : 0;
        },
      });
      const loaded = this.#opened(model);
      this.#loaded = loaded;
      this.#events.emit({ type: "model", ...origin, name, state: "loaded" });
      this.#onLoad?.(this);
      return loaded;
    } catch (error) {
      this.#failure = error;
      this.#events.emit({ type: "model", ...origin, name, state: "failed", error });
      if (this.#onFailure !== undefined) throw this.#onFailure(error);
      throw new ApiError(503, "internal_error", `model ${name}: expected a model that can be loaded, got a failure`, { cause: error });
    }
  }

  /** The engine could not open its device again: the model is loaded again once, and counts as failed after that. */
  #lose(lost: Loaded, error: unknown, origin: RequestOrigin | undefined): void {
    // A model that was handed in stays its owner's.
    if (this.#loaded !== lost || this.#loader === undefined) return;
    this.#loaded = undefined;
    const isAgain = ++this.#losses > 1;
    if (isAgain) this.#failure = error;
    this.#events.emit({ type: "model", ...origin, name: this.name, state: isAgain ? "failed" : "unloaded", ...(isAgain && { error }) });
    lost.model.dispose().catch(() => undefined);
    if (!isAgain && this.#loader.isLazy !== true) void this.#start();
  }

  #leave(): void {
    this.#users--;
    this.#lastUsed = performance.now();
    if (this.#users === 0) this.#watchIdle();
  }

  #watchIdle(): void {
    clearTimeout(this.#idle);
    this.#idleAt = undefined;
    if (this.#idleMs === undefined || this.#loaded === undefined) return;
    this.#idle = setTimeout(() => void this.#unload(), this.#idleMs);
    this.#idleAt = Date.now() + this.#idleMs;
  }

  async #unload(): Promise<void> {
    if (this.#loader === undefined || this.#loaded === undefined) return;
    const { model } = this.#loaded;
    this.#loaded = undefined;
    await model.dispose();
    this.#events.emit({ type: "model", name: this.name, state: "unloaded" });
  }
}
