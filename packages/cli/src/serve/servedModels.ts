import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { GgufInput } from "@centella/gguf";
import type { AdapterOptions, LoadModelOptions } from "@centella/llm";
import { fable } from "@centella/model-fable";
import type { Engine, LoadContext, ModelLoader } from "@centella/server";
import { fileName, modelSource } from "../modelFile.ts";
import { UsageError } from "../usageError.ts";

/** A LoRA adapter on the command line. */
export interface ServedAdapter extends AdapterOptions {
  /** Name of the model that it adapts. Default: the first one. Only with a name: without one, it belongs to every model. */
  readonly base?: string;
}

/** Models on the command line. */
export interface ModelArguments {
  /** FILE or NAME=FILE. */
  readonly files: readonly string[];
  readonly folder: string | undefined;
  /** Name of the first model. */
  readonly alias: string | undefined;
  readonly isLazy: boolean;
  /** Adapters that are models of their own. */
  readonly adapters: readonly ServedAdapter[];
}

/** A model to serve. Without a file, it is the embedded one. */
interface NamedModel {
  readonly name: string;
  readonly file: string | undefined;
  readonly isLazy: boolean;
  /** Adapters that are models of their own, by their names. */
  readonly adapters?: Readonly<Record<string, ServedAdapter>>;
}

/** Number of requests that a model computes at the same time. */
const defaultSequences = 4;

/** Loaders of the models by name. Without any, the embedded model is served. @throws {UsageError} for two models of one name */
export function servedModels(given: ModelArguments, loading: Loading): Readonly<Record<string, ModelLoader>> {
  const models = namedModels(given);
  const adapted = given.adapters.map((adapter) => ({ adapter, base: baseOf(adapter, models).name }));
  const names = [...models.map(({ name }) => name), ...adapted.map(({ adapter, base }) => `${base}:${adapter.name}`)];
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new UsageError(`serve: expected models of different names, got two of the name ${twice}; write NAME=FILE`);
  const adaptersOf = (name: string): Readonly<Record<string, ServedAdapter>> =>
    Object.fromEntries(adapted.filter(({ base }) => base === name).map(({ adapter }) => [adapter.name, adapter]));
  return Object.fromEntries(models.map((model) => [model.name, loaderOf({ ...model, adapters: adaptersOf(model.name) }, loading)]));
}

/** What the loaders of a server share. */
export interface Loading {
  readonly options: Omit<LoadModelOptions, "runtime">;
  /** Loads a file on the server's devices. */
  readonly load: (source: GgufInput, options: Omit<LoadModelOptions, "runtime" | "cache">, context: LoadContext) => Promise<Engine>;
  readonly idleMs: number | undefined;
  /** Adapters of every model. */
  readonly everywhere: readonly ServedAdapter[];
}

/** A loader of a model. */
export function loaderOf(
  { file, isLazy, adapters = {} }: Omit<NamedModel, "name">,
  { options, load, idleMs, everywhere }: Loading,
): ModelLoader {
  const named = Object.entries(adapters);
  return {
    load: async (context) => {
      const source = file === undefined ? fable : await modelSource(file);
      // The scale of a named adapter is that of its model, which requests may change.
      const sources = [
        ...everywhere.map(({ source: from, scale }) => ({ source: from, scale })),
        ...named.map(([name, { source: from }]) => ({ source: from, name })),
      ];
      const added = sources.length > 0 ? { adapters: sources } : {};
      return load(source, { sequences: defaultSequences, ...options, ...added }, context);
    },
    isLazy,
    ...(isLazy && { idleMs }),
    ...(named.length > 0 && { adapters: Object.fromEntries(named.map(([name, { scale = 1 }]) => [name, scale])) }),
  };
}

function namedModels({ files, folder, alias, isLazy }: ModelArguments): readonly NamedModel[] {
  const models: NamedModel[] = files.map((given) => {
    const [, name, file = given] = /^([\w.-]+)=(.+)$/.exec(given) ?? [];
    return { name: name ?? nameOf(file), file, isLazy };
  });
  if (folder !== undefined) models.push(...filesOf(folder).map((file) => ({ name: nameOf(file), file: join(folder, file), isLazy: true })));
  if (models.length === 0) models.push({ name: "fable", file: undefined, isLazy });
  if (alias !== undefined) models[0] = { ...models[0]!, name: alias };
  return models;
}

/** The model of an adapter. @throws {UsageError} for an unknown one */
function baseOf(adapter: ServedAdapter, models: readonly NamedModel[]): NamedModel {
  const base = models.find(({ name }) => adapter.base === undefined || name === adapter.base);
  if (base !== undefined) return base;
  throw new UsageError(`--lora: expected the base to be one of ${models.map(({ name }) => name).join(", ")}, got ${adapter.base}`);
}

/** Models in a folder. Of a split model, the first part. */
function filesOf(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".gguf") && !/-(?!00001)\d{5}-of-\d{5}\.gguf$/.test(name));
  if (files.length === 0) throw new UsageError(`--models-dir: expected .gguf files in ${folder}, got none`);
  return files.sort();
}

/** The name of a served file, unless another one is given. */
export function nameOf(file: string): string {
  return fileName(file).replace(/(-00001-of-\d{5})?\.gguf$/, "");
}
