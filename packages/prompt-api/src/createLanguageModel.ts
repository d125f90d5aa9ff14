import type { GenerateOptions } from "@centella/llm";
import type { EngineModel } from "@centella/llm/engine";
import { ArgumentError } from "@centella/quant";
import { anything, checkKeys, checkOptions, type Kinds, listOf, object, string } from "@centella/quant/checks";
import { readInitialPrompts, readPlan, type SessionPlan } from "./createOptions.ts";
import { Dialogue } from "./dialogue.ts";
import { domException, promptError } from "./errors.ts";
import { LoadedModel, type ModelSupply, ownedModel } from "./modelLoader.ts";
import type { ModelToLoad } from "./modelSource.ts";
import { DownloadProgress } from "./monitor.ts";
import { constructorKey, PromptSession } from "./promptSession.ts";
import { paramsOf, resolveSampling } from "./sampling.ts";
import type { Availability, CreateCoreOptions, CreateOptions, LanguageModelParams } from "./types.ts";

/** Options of `session.generate` that Chrome's API has no names for; they apply to every answer. */
const defaultNames = [
  "maxTokens",
  "temperature",
  "topK",
  "topP",
  "minP",
  "repeatPenalty",
  "presencePenalty",
  "frequencyPenalty",
  "seed",
  "stop",
  "reasoning",
  "toolChoice",
  "parallelToolCalls",
  "chat",
] as const satisfies readonly (keyof GenerateOptions)[];

/** Options of every answer, by the names of `session.generate`. */
export type AnswerDefaults = Pick<GenerateOptions, (typeof defaultNames)[number]>;

/** Options of {@link createLanguageModel}: a model that is loaded, or a source and what computes it. */
export type LanguageModelOptions = {
  /** Options of every answer. Those of `create` take precedence. */
  readonly defaults?: AnswerDefaults | undefined;
  /** BCP 47 tags of the languages that the model knows. Sessions that expect another one are refused. Default: any. */
  readonly languages?: readonly string[] | undefined;
} & ({ readonly model: EngineModel } | ModelToLoad);

/** Chrome's `LanguageModel`, for one model. */
export type LanguageModelClass = (abstract new () => PromptSession) & {
  /**
   * Creates a session, which loads the model if it is not loaded.
   * @throws {TypeError | RangeError} for options of another form or out of range
   * @throws {DOMException} NotSupportedError for images, sound and languages that the model does not know; QuotaExceededError if the initial
   *   prompts do not fit into the context; NetworkError for a failed download; OperationError if the model cannot be loaded; the signal's reason
   */
  create(options?: CreateOptions): Promise<PromptSession>;
  /** Whether a session with these options can be created, and whether the model has to be downloaded first. @throws as {@link create} for options */
  availability(options?: CreateCoreOptions): Promise<Availability>;
  /** Defaults and limits of `topK` and `temperature`: the model's own once it is loaded. */
  params(): Promise<LanguageModelParams>;
  /** Frees a model that `create` has loaded. The next session loads it again. */
  unload(): Promise<void>;
};

const kinds: Kinds<{
  defaults: unknown;
  languages: unknown;
  model: unknown;
  source: unknown;
  load: unknown;
  runtime: unknown;
  worker: unknown;
}> = {
  defaults: object,
  languages: listOf("language tags", string),
  model: object,
  source: anything,
  load: object,
  runtime: object,
  worker: object,
};

/**
 * Chrome's `LanguageModel` for a model that runs in this process or page.
 * @throws {ArgumentError} for an unknown option, and without exactly one of `model`, `runtime` and `worker`
 */
export function createLanguageModel(options: LanguageModelOptions): LanguageModelClass {
  const { defaults = {}, languages } = checkOptions("createLanguageModel", options as object, kinds) as LanguageModelOptions;
  checkKeys("createLanguageModel.defaults", defaults, defaultNames);
  const supply = supplyOf(options);

  class LanguageModel extends PromptSession {
    static async create(options: CreateOptions = {}): Promise<PromptSession> {
      const plan = readPlan(options, languages);
      const conversation = readInitialPrompts(options);
      const { signal, monitor } = options;
      signal?.throwIfAborted();
      if (plan.unsupported !== undefined) throw domException("NotSupportedError", `create: ${plan.unsupported}`);
      const progress = new DownloadProgress(monitor);
      progress.report(0);
      const model = await supply.open(signal, (fraction) => progress.report(fraction));
      progress.report(1);
      const sampled = resolveSampling(plan.sampling, defaults, model.info);
      try {
        const session = model.createSession();
        const { contextLength: contextWindow } = model.info;
        const dialogue = new Dialogue({
          session,
          conversation,
          contextWindow,
          options: generateOptions(plan, { ...defaults, ...sampled }),
        });
        await dialogue.begin(signal);
        return new LanguageModel(constructorKey, { dialogue, samplingMode: plan.sampling.samplingMode, ...sampled }, signal);
      } catch (error) {
        throw promptError(error);
      }
    }

    static async availability(options: CreateCoreOptions = {}): Promise<Availability> {
      return readPlan(options, languages).unsupported === undefined ? supply.availability() : "unavailable";
    }

    static async params(): Promise<LanguageModelParams> {
      return paramsOf(supply.loaded?.info);
    }

    static unload(): Promise<void> {
      return supply.unload();
    }
  }
  // Its constructor is for `create` alone, so that the type has none that can be called.
  return LanguageModel as unknown as LanguageModelClass;
}

function supplyOf(options: LanguageModelOptions): ModelSupply {
  const given = ["model", "runtime", "worker"].filter((name) => name in options);
  if (given.length !== 1)
    throw new ArgumentError("createLanguageModel", "one of model, runtime and worker", given.join(" and ") || "none", "pass one of them");
  if ("model" in options) return ownedModel(options.model);
  if (options.source === undefined) throw new ArgumentError("createLanguageModel", "a source to load", "none", "pass a path or a URL");
  return new LoadedModel(options);
}

/** Options of every generation of a session. Those of tools have no effect without tools. */
function generateOptions({ tools }: SessionPlan, { toolChoice, parallelToolCalls, ...rest }: AnswerDefaults): GenerateOptions {
  return tools.length === 0 ? rest : { ...rest, tools, toolChoice, parallelToolCalls };
}
