import type {
  CacheUsage,
  GenerateOptions,
  GenerationPart,
  Model,
  ModelInfo,
  Prompt,
  Ranking,
  RestoreOptions,
  SaveOptions,
} from "@centella/llm";
import { textOf } from "../generation/promptText.ts";
import { adaptersKey } from "./adapterKey.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Engine, EngineSession } from "./engine.ts";

/** An engine of a group, such as a `WorkerModel` of `@centella/llm/worker`. */
export type GroupedEngine = Omit<Engine, "tokenizer" | "chatTemplate">;

/** What the engines of a group share, in this thread. */
export interface GroupParts extends Pick<Model, "tokenizer" | "chatTemplate"> {
  /** Called once the engines are disposed of. */
  close?(): Promise<void>;
}

/**
 * Engines that hold the same model on several devices, as one: each text is computed by the engine that has computed its beginning, or else by
 * the one with the least load.
 */
export function groupEngines(engines: readonly GroupedEngine[], parts: GroupParts): Engine {
  return new EngineGroup(engines, parts);
}

class EngineGroup implements Engine {
  readonly info: ModelInfo;
  readonly #engines: readonly GroupedEngine[];
  readonly #parts: GroupParts;
  readonly #dispatcher: Dispatcher;

  constructor(engines: readonly GroupedEngine[], parts: GroupParts) {
    this.#engines = engines;
    this.#parts = parts;
    const infos = engines.map(({ info }) => info);
    this.#dispatcher = new Dispatcher(infos.map(({ sequences }) => sequences));
    const sum = (of: (info: ModelInfo) => number): number => infos.reduce((total, info) => total + of(info), 0);
    this.info = {
      ...infos[0]!,
      sequences: sum(({ sequences }) => sequences),
      device: infos.map(({ device }) => device).join(" + "),
      memory: { weights: sum(({ memory }) => memory.weights), cache: sum(({ memory }) => memory.cache) },
      warnings: [...new Set(infos.flatMap(({ warnings }) => warnings))],
    };
  }

  get tokenizer(): Model["tokenizer"] {
    return this.#parts.tokenizer;
  }

  get chatTemplate(): Model["chatTemplate"] {
    return this.#parts.chatTemplate;
  }

  createSession(options?: AdapterOption): EngineSession {
    return new GroupSession(this.#engines, this.#dispatcher, options);
  }

  async restoreSession(bytes: Uint8Array, options?: RestoreOptions): Promise<EngineSession> {
    return this.#call(async (engine, lane) => {
      const session = await engine.restoreSession(bytes, options);
      return new GroupSession(this.#engines, this.#dispatcher, undefined, { lane, session });
    });
  }

  embed(...args: Parameters<Model["embed"]>): Promise<Float32Array[]> {
    return this.#call((engine) => engine.embed(...args));
  }

  rerank(...args: Parameters<Model["rerank"]>): Promise<Ranking> {
    return this.#call((engine) => engine.rerank(...args));
  }

  async cacheUsage(): Promise<CacheUsage> {
    const usages = await Promise.all(this.#engines.map((engine) => engine.cacheUsage()));
    const sum = (of: (usage: CacheUsage) => number): number => usages.reduce((total, usage) => total + of(usage), 0);
    return { blockTokens: usages[0]!.blockTokens, blocks: sum(({ blocks }) => blocks), usedBlocks: sum(({ usedBlocks }) => usedBlocks) };
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.dispose()));
    await this.#parts.close?.();
  }

  /** Calls the engine with the least load. */
  async #call<T>(work: (engine: GroupedEngine, lane: number) => Promise<T>): Promise<T> {
    const lane = this.#dispatcher.enter("");
    try {
      return await work(this.#engines[lane]!, lane);
    } finally {
      this.#dispatcher.leave(lane);
    }
  }
}

type AdapterOption = Parameters<Engine["createSession"]>[0];

interface Place {
  readonly lane: number;
  readonly session: EngineSession;
}

/** A session of one of the engines, which its first text chooses. */
class GroupSession implements EngineSession {
  readonly #engines: readonly GroupedEngine[];
  readonly #dispatcher: Dispatcher;
  readonly #options: AdapterOption | undefined;
  #place: Place | undefined;

  constructor(engines: readonly GroupedEngine[], dispatcher: Dispatcher, options?: AdapterOption, place?: Place) {
    this.#engines = engines;
    this.#dispatcher = dispatcher;
    this.#options = options;
    this.#place = place;
  }

  generate(prompt: Prompt, options: GenerateOptions): AsyncGenerator<GenerationPart, void, undefined> {
    return this.#generate(prompt, options);
  }

  save(options?: SaveOptions): Promise<Uint8Array> {
    this.#place ??= { lane: 0, session: this.#engines[0]!.createSession(this.#options) };
    return this.#place.session.save(options);
  }

  reset(): void {
    this.#place?.session.reset();
  }

  dispose(): void {
    this.#place?.session.dispose();
  }

  async *#generate(prompt: Prompt, options: GenerateOptions): AsyncGenerator<GenerationPart, void, undefined> {
    const { lane, session } = this.#enter(prompt);
    try {
      yield* session.generate(prompt, options);
    } catch (error) {
      this.#dispatcher.fail(lane, error);
      throw error;
    } finally {
      this.#dispatcher.leave(lane);
    }
  }

  #enter(prompt: Prompt): Place {
    if (this.#place !== undefined) this.#dispatcher.enterLane(this.#place.lane);
    else {
      // Texts with different adapters share nothing.
      const lane = this.#dispatcher.enter(adaptersKey(this.#options?.adapters) + textOf(prompt));
      this.#place = { lane, session: this.#engines[lane]!.createSession(this.#options) };
    }
    return this.#place;
  }
}
