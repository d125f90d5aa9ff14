import type { GenerateOptions, Pooling, SamplingOptions } from "@centella/llm";
import { ArgumentError } from "@centella/quant";
import {
  boolean,
  callback,
  check,
  checkOptions,
  describe,
  finite,
  isRecord,
  type Kinds,
  kind,
  list,
  listOf,
  nonEmptyString,
  object,
  oneOf,
  printable,
  whole,
  within,
} from "@centella/quant/checks";
import { defaultLimits, type Limits } from "./limits.ts";
import type { MetricsSource } from "./metricsSource.ts";
import { adaptedName } from "./models/adaptedModel.ts";
import type { ModelLoader } from "./models/modelEntry.ts";
import type { ModelLibrary } from "./models/modelLibrary.ts";
import type { ServedModel } from "./models/modelStore.ts";
import type { ApiKey } from "./security/keys.ts";
import type { SlotStore } from "./slotStore.ts";
import { milliseconds } from "./times.ts";

/** What requests may leave out. */
export type AnswerDefaults = Omit<SamplingOptions, "dryBreakers"> & Pick<GenerateOptions, "maxTokens" | "dryBreakers">;

/** Options of `createHandler`. Bounds that are not given are those of `defaultLimits`. */
export interface HandlerOptions extends Partial<Limits> {
  /** Models by the names that requests use. Requests without a name get the first one. */
  readonly models: Readonly<Record<string, ServedModel>>;
  /** API keys, of which every request but those of `/health` needs one. Default: requests need no key. */
  readonly keys?: readonly ApiKey[] | undefined;
  /** Host names that requests may have in `Host`. Default: those that the listener allows. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins of pages that may send requests and read responses, besides those of the machine itself and of the server. `"*"` allows all. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Sampling options and the length of texts, for requests that give none. Default: the model's. */
  readonly defaults?: AnswerDefaults | undefined;
  /** How vectors of texts are made of the states of their tokens. Default: as the model's file says. */
  readonly pooling?: Pooling | undefined;
  /** What answers `/metrics`. Default: nothing, and `/metrics` is 501. */
  readonly metrics?: MetricsSource | undefined;
  /** Models that requests may pull, by names that are not among {@link models}. Default: none. */
  readonly library?: ModelLibrary | undefined;
  /** Emit an event with each prompt, for logs. Default false. */
  readonly emitsPrompts?: boolean | undefined;
  /** Where `/slots/{id}` saves what slots have computed. Default: nowhere, and these requests are refused. */
  readonly slotStore?: SlotStore | undefined;
}

const atLeastOne = kind("an object with at least one model", (value) => isRecord(value) && Object.keys(value).length > 0);

const kinds: Kinds<HandlerOptions> = {
  models: atLeastOne,
  keys: list,
  hosts: listOf("host names", nonEmptyString),
  corsOrigins: listOf("origins", nonEmptyString),
  defaults: object,
  pooling: oneOf("mean", "cls", "last"),
  metrics: object,
  slotStore: object,
  library: object,
  emitsPrompts: boolean,
  maxQueue: whole(0),
  maxQueuedTokens: within(0),
  queueTimeoutMs: milliseconds(0),
  requestTimeoutMs: milliseconds(1),
  maxBody: whole(1),
  pingMs: milliseconds(1),
  maxModelMemory: within(1),
};

const keyKinds: Kinds<ApiKey> = {
  key: nonEmptyString,
  name: nonEmptyString,
  maxRequests: whole(1),
  maxTokens: whole(1),
  maxContext: whole(1),
};

const loaderKinds: Kinds<ModelLoader> = { load: callback, isLazy: boolean, idleMs: milliseconds(0), adapters: object };

/** @throws {ArgumentError} for what is neither a model nor a loader */
function checkModel(where: string, served: ServedModel): void {
  if (isRecord(served) && "load" in served) {
    const { adapters = {} } = checkOptions(where, served as ModelLoader, loaderKinds);
    for (const [name, scale] of Object.entries(adapters)) check(where, `adapters.${printable(name)}`, scale, finite);
  } else if (!isRecord(served) || !callback.accepts(served.createSession) || !isRecord(served.info))
    throw new ArgumentError(where, "a loaded model, or { load }", describe(served));
}

/** @throws {ArgumentError} if an adapter's model has the name of another model */
function checkAdapterNames(models: HandlerOptions["models"]): void {
  for (const [base, served] of Object.entries(models)) {
    const adapters = "load" in served ? Object.keys(served.adapters ?? {}) : (served.info.adapters ?? []);
    const taken = adapters.map((adapter) => adaptedName(base, adapter)).find((name) => Object.hasOwn(models, name));
    if (taken !== undefined) throw new ArgumentError("createHandler", "models of different names", `two of the name ${printable(taken)}`);
  }
}

/** Checks the options and fills in the limits. @throws {ArgumentError} */
export function limitsOf(options: HandlerOptions): Limits {
  checkOptions("createHandler", options, kinds);
  if (options.models === undefined) throw new ArgumentError("createHandler", "models", describe(undefined));
  for (const [name, served] of Object.entries(options.models)) checkModel(`createHandler.models.${printable(name)}`, served);
  checkAdapterNames(options.models);
  for (const [i, key] of (options.keys ?? []).entries()) {
    checkOptions(`createHandler.keys[${i}]`, key, keyKinds);
    if (key.key === undefined) throw new ArgumentError(`createHandler.keys[${i}]`, "a key", describe(undefined));
  }
  const names = Object.keys(defaultLimits) as (keyof Limits)[];
  return { ...defaultLimits, ...Object.fromEntries(names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]))) };
}
