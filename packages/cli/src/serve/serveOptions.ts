import { readFileSync } from "node:fs";
import type { Pooling } from "@centella/llm";
import type { ApiKey, HandlerOptions } from "@centella/server";
import type { ListenOptions, MetricNames } from "@centella/server/node";
import { adapter, modelOptions } from "../modelOptions.ts";
import { choice, flag, grouped, number, type OptionSpec, type OptionValues, repeated, text } from "../options.ts";
import { UsageError } from "../usageError.ts";
import { defaultOptions, readDefaults } from "./defaultOptions.ts";
import { devicesOption } from "./devices.ts";
import type { ServedAdapter } from "./servedModels.ts";

const list = (value: string, help: string, aliases: readonly string[] = []): OptionSpec<readonly (readonly string[])[]> =>
  repeated(value, help, (given) => given.split(",").filter((each) => each !== ""), { aliases });

/** Timers hold up to 2^31 ms, 24.8 days. */
const seconds = (help: string, aliases: readonly string[] = []): OptionSpec<number> =>
  number("SECONDS", help, { min: 0, max: 2_147_483, aliases });

/** llama-server's values of `--pooling`, but for `none`. */
type ServedPooling = Pooling | "rank";

/** The values of the options that only this command has. Lists are joined by the caller. */
interface Values {
  readonly host: string;
  readonly port: number;
  readonly socket: string;
  readonly "drain-timeout": number;
  readonly log: true;
  readonly "log-prompts": true;
  readonly json: true;
  readonly alias: string;
  readonly "models-dir": string;
  readonly lora: readonly ServedAdapter[];
  readonly lazy: true;
  readonly "allow-pull": true;
  readonly "idle-timeout": number;
  readonly "max-model-memory": number;
  readonly sequences: number;
  readonly devices: readonly (readonly number[])[];
  readonly embedding: true;
  readonly reranking: true;
  readonly pooling: ServedPooling;
  readonly slots: true;
  readonly "slot-save-path": string;
  readonly "max-queue": number;
  readonly "max-queued-tokens": number;
  readonly "queue-timeout": number;
  readonly "request-timeout": number;
  readonly "max-body": number;
  readonly "api-key": readonly (readonly string[])[];
  readonly "api-key-file": string;
  readonly "no-auth": true;
  readonly "allowed-hosts": readonly (readonly string[])[];
  readonly "cors-origins": readonly (readonly string[])[];
  readonly metrics: true;
  readonly "metrics-names": readonly (readonly string[])[];
}

type Specs<T> = { readonly [K in keyof T]: OptionSpec<T[K]> };

/** Options of `centella serve` and spellings of llama-server. */
export const serveOptions: Specs<Values> & Omit<typeof modelOptions, "lora"> & typeof defaultOptions = {
  ...grouped("Listening", {
    host: text("HOST", "address to listen on (default: 127.0.0.1, this machine alone)"),
    port: number("PORT", "port to listen on, 0 for a free one (default: 8080)", { min: 0, max: 65_535, integer: true }),
    socket: text("PATH", "listen on a Unix socket in place of host and port"),
    "drain-timeout": seconds("time for open requests after SIGTERM (default: 30)"),
    json: flag("print one JSON object with the URL"),
    log: flag("print a line of JSON for each event on stderr"),
    "log-prompts": flag("print prompts, too"),
  }),
  ...grouped("Models", {
    alias: text("NAME", "name of the first model (default: the file's name)", { short: "a" }),
    "models-dir": text("FOLDER", "serve every .gguf file of FOLDER, loaded when a request needs it"),
    "allow-pull": flag("let requests download, copy and delete models, by names such as hf:owner/repo:Q4_K_M"),
    lazy: flag("load models when a request needs them"),
    "max-model-memory": number("GIB", "unload lazy models without a request while all models take more (default: no limit)", { min: 0 }),
    "idle-timeout": seconds("unload lazy models after this time without a request (default: never)", ["--sleep-idle-seconds"]),
    sequences: number("N", "requests computed at the same time by each model (default: 4)", {
      min: 1,
      integer: true,
      aliases: ["--parallel", "-np"],
    }),
    devices: devicesOption,
    embedding: flag("accepted, because every model computes embeddings", { aliases: ["--embeddings"] }),
    reranking: flag("accepted, because rerankers always rerank", { aliases: ["--rerank"] }),
    pooling: choice(["mean", "cls", "last", "rank"], "how token states become one vector (default: as the file says, else mean)"),
    slots: flag("accepted, because /slots is always there"),
    "slot-save-path": text("FOLDER", "let requests save, restore and erase slots, in FOLDER"),
  }),
  ...grouped("Limits", {
    "max-queue": number("N", "requests that may wait for each model (default: 100)", { min: 0, integer: true }),
    "max-queued-tokens": number("N", "prompt tokens that may wait for each model (default: 1,000,000)", { min: 0 }),
    "queue-timeout": seconds("longest time in the queue (default: 60)"),
    "request-timeout": seconds("longest time of a generation (default: 600)"),
    "max-body": number("MIB", "largest body of a request (default: 16)", { min: 1 }),
  }),
  ...grouped("Security", {
    "api-key": list(
      "[NAME:]KEY[ LIMIT=N],…",
      "keys, of which requests need one (also: CENTELLA_API_KEYS); limits of a key: max-requests, max-tokens, max-context",
    ),
    "api-key-file": text("PATH", "a file with a key and its limits, as in --api-key, in each line"),
    "no-auth": flag("listen on other hosts without keys"),
    "allowed-hosts": list("NAME,…", "names that requests may have in Host (default: those of this machine)"),
    "cors-origins": list("ORIGIN,…", "origins of pages that may send requests"),
  }),
  ...grouped("Metrics", {
    metrics: flag("answer /metrics for Prometheus"),
    "metrics-names": list("NAME,…", "names of metrics: centella, vllm, llamacpp (default: centella)"),
  }),
  ...modelOptions,
  ...grouped("Models", {
    lora: repeated(
      "[[BASE:]NAME=]FILE[:SCALE]",
      "serve a LoRA adapter as the model BASE:NAME (default BASE: the first model); without NAME, add it to every model",
      servedAdapter,
    ),
  }),
  ...defaultOptions,
};

export type ServeValues = OptionValues<typeof serveOptions>;

const metricNames: readonly MetricNames[] = ["centella", "vllm", "llamacpp"];

/** Names of the metrics, if there are metrics. @throws {UsageError} for another name */
export function readMetrics({ metrics, "metrics-names": names }: ServeValues): readonly MetricNames[] | undefined {
  const given = names?.flat();
  const unknown = given?.find((name) => !metricNames.includes(name as MetricNames));
  if (unknown !== undefined) throw new UsageError(`--metrics-names: expected some of ${metricNames.join(", ")}, got ${unknown}`);
  return given === undefined ? (metrics ? ["centella"] : undefined) : (given as readonly MetricNames[]);
}

/** Options of the handler that do not need a model. @throws {UsageError} */
export function readHandler(values: ServeValues, environment: string | undefined): Omit<HandlerOptions, "models" | "metrics"> {
  const milliseconds = (given: number | undefined): number | undefined => given && given * 1000;
  const { "api-key": given = [], "api-key-file": file, pooling } = values;
  const inFile = file === undefined ? [] : readFileSync(file, "utf8").split(/\r?\n/);
  const keys = [...given.flat(), ...inFile, ...(environment ?? "").split(",")].filter((key) => key !== "").map(readKey);
  return {
    defaults: readDefaults(values),
    ...defined({
      keys: keys.length > 0 ? keys : undefined,
      // Rerankers have no vectors.
      pooling: pooling === "rank" ? undefined : pooling,
      corsOrigins: values["cors-origins"]?.flat(),
      maxQueue: values["max-queue"],
      maxQueuedTokens: values["max-queued-tokens"],
      queueTimeoutMs: milliseconds(values["queue-timeout"]),
      requestTimeoutMs: milliseconds(values["request-timeout"]),
      emitsPrompts: values["log-prompts"],
      maxModelMemory: values["max-model-memory"] && values["max-model-memory"] * 2 ** 30,
      maxBody: values["max-body"] && values["max-body"] * 2 ** 20,
    }),
  };
}

/** Options of the listener. */
export function readListener(values: ServeValues): ListenOptions {
  return defined({
    host: values.host,
    port: values.port,
    socket: values.socket,
    hosts: values["allowed-hosts"]?.flat(),
    isOpen: values["no-auth"],
  });
}

/** Parses [[BASE:]NAME=]FILE[:SCALE]. */
function servedAdapter(given: string, option: string): ServedAdapter {
  const [, base, name, file = given] = /^(?:([\w.-]+):)?([\w.-]+)=(.+)$/.exec(given) ?? [];
  return { ...adapter(file, option), ...defined({ base, name }) };
}

const keyLimits = { "max-requests": "maxRequests", "max-tokens": "maxTokens", "max-context": "maxContext" } as const;

/** Parses [NAME:]KEY and the limits after it, such as `max-tokens=100`. @throws {UsageError} */
function readKey(given: string): ApiKey {
  const [named = "", ...limits] = given.trim().split(/\s+/);
  const [, name, key = named] = /^([\w.-]+):(.+)$/.exec(named) ?? [];
  return { key, ...defined({ name }), ...Object.fromEntries(limits.map(readKeyLimit)) };
}

function readKeyLimit(given: string): readonly [keyof ApiKey, number] {
  const [name, value = ""] = given.split("=");
  const limit = Object.entries(keyLimits).find(([each]) => each === name)?.[1];
  // The text may be a part of a key, which is a secret.
  if (limit === undefined || !/^[1-9]\d{0,8}$/.test(value))
    throw new UsageError(`--api-key: expected ${Object.keys(keyLimits).join("=N, ")}=N after a key and a space, got another text`);
  return [limit, Number(value)];
}

function defined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
