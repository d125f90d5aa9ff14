import { type AdapterScales, snapshotAdapters, type Usage } from "@centella/llm";
import { ApiError } from "../errors.ts";
import { adaptersKey } from "./adapterKey.ts";
import type { Engine, EngineSession } from "./engine.ts";

/** A numbered place for the tokens that a model has computed, as in llama-server. */
export class Slot {
  readonly id: number;
  /** The session of its last text, whose tokens can be saved. */
  session: EngineSession | undefined;
  /** Key of the adapters of {@link session}. */
  adapters = "";
  /** Tokens of {@link session}. */
  tokens = 0;
  isProcessing = false;
  /** What its last text computed. */
  counts = { prompt: 0, cached: 0, generated: 0 };

  constructor(id: number) {
    this.id = id;
  }
}

/** The slots of a loaded model: one for each sequence. A text that names a slot continues what the slot has computed. */
export class Slots {
  readonly all: readonly Slot[];
  readonly #engine: Engine;
  /** Called when a slot becomes free, in the order of arrival. */
  readonly #waiting = new Set<() => void>();
  readonly #onFree: (() => void) | undefined;

  /** @param onFree called when a slot becomes free, before {@link take} gets it */
  constructor(engine: Engine, onFree?: () => void) {
    this.#engine = engine;
    this.#onFree = onFree;
    this.all = Array.from({ length: engine.info.sequences }, (_, id) => new Slot(id));
  }

  /** Takes a slot once it is free. Return it by {@link release}. @throws the signal's reason */
  async take(slot: Slot, signal: AbortSignal): Promise<void> {
    while (slot.isProcessing) await this.#change(signal);
    signal.throwIfAborted();
    slot.isProcessing = true;
  }

  /** Takes any free slot, if there is one. Return it by {@link release}. */
  takeFree(): Slot | undefined {
    const slot = this.all.find(({ isProcessing }) => !isProcessing);
    if (slot !== undefined) slot.isProcessing = true;
    return slot;
  }

  /** Frees a slot, after a text with this usage if there is one. */
  release(slot: Slot, usage?: Usage): void {
    slot.isProcessing = false;
    if (usage !== undefined) {
      const { promptTokens: prompt, cachedTokens: cached, completionTokens: generated } = usage;
      slot.tokens = prompt + generated;
      slot.counts = { prompt, cached, generated };
    }
    this.#onFree?.();
    for (const wake of this.#waiting) wake();
  }

  /** A session for a text with these adapters: that of a named slot, or a new one, which the slot keeps. */
  open(slot: Slot | undefined, isNamed: boolean, adapters?: AdapterScales): EngineSession {
    const key = adaptersKey(adapters);
    const kept = isNamed && slot?.adapters === key ? slot.session : undefined;
    // Texts are independent of one another, although they share computed tokens.
    kept?.reset();
    const session = kept ?? this.#engine.createSession({ adapters });
    if (slot !== undefined) [slot.session, slot.adapters] = [session, key];
    return session;
  }

  /** Replaces the session of a slot. */
  async restore(slot: Slot, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const session = await this.#engine.restoreSession(bytes, { signal });
    slot.session?.dispose();
    [slot.session, slot.adapters] = [session, adaptersKey(snapshotAdapters(bytes))];
  }

  /** Forgets what a slot has computed. Returns the number of tokens. */
  erase(slot: Slot): number {
    const { tokens } = slot;
    slot.session?.dispose();
    [slot.session, slot.tokens] = [undefined, 0];
    return tokens;
  }

  /** Waits until a slot becomes free. @throws the signal's reason */
  async #change(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let wake: (() => void) | undefined;
    let leave: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        wake = resolve;
        leave = () => reject(signal.reason);
        this.#waiting.add(wake);
        signal.addEventListener("abort", leave);
      });
    } finally {
      this.#waiting.delete(wake!);
      signal.removeEventListener("abort", leave!);
    }
  }
}

/** The slot of this number. @throws {ApiError} 400 */
export function slotOf({ all }: Slots, id: number, param: string): Slot {
  const found = all[id];
  if (found === undefined) throw new ApiError(400, "invalid_value", `${param}: expected a slot below ${all.length}, got ${id}`, { param });
  return found;
}
