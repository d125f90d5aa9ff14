import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "@centella/core";
import { type LoadModelOptions, loadModel } from "@centella/llm";
import { fable } from "@centella/model-fable";
import type { ModelLoader } from "@centella/server";
import { fileName, modelSource } from "../modelFile.ts";
import { UsageError } from "../usageError.ts";

/** Models on the command line. */
export interface ModelArguments {
  /** FILE or NAME=FILE. */
  readonly files: readonly string[];
  readonly folder: string | undefined;
  /** Name of the first model. */
  readonly alias: string | undefined;
  readonly isLazy: boolean;
  readonly idleMs: number | undefined;
}

/** Number of requests that a model computes at the same time. */
const defaultSequences = 4;

/** Loaders of the models by name. Without any, the embedded model is served. @throws {UsageError} for two models of one name */
export function servedModels(
  { files, folder, alias, isLazy, idleMs }: ModelArguments,
  options: Omit<LoadModelOptions, "runtime">,
  openRuntime: () => Promise<Runtime>,
): Readonly<Record<string, ModelLoader>> {
  const loader = (file: string | undefined, lazy: boolean): ModelLoader => ({
    load: async (context) => {
      const source = file === undefined ? fable : await modelSource(file);
      const runtime = await openRuntime();
      return loadModel(source, { runtime, sequences: defaultSequences, ...options, cache: true, ...context });
    },
    isLazy: lazy,
    ...(lazy && { idleMs }),
  });
  const inFolder = folder === undefined ? [] : filesOf(folder);
  const named: (readonly [string, ModelLoader])[] = [
    ...files.map((given) => {
      const [, name, file = given] = /^([\w.-]+)=(.+)$/.exec(given) ?? [];
      return [name ?? nameOf(file), loader(file, isLazy)] as const;
    }),
    ...inFolder.map((file) => [nameOf(file), loader(join(folder!, file), true)] as const),
  ];
  if (named.length === 0) named.push(["fable", loader(undefined, isLazy)]);
  if (alias !== undefined) named[0] = [alias, named[0]![1]];
  const names = named.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new UsageError(`serve: expected models of different names, got two of the name ${twice}; write NAME=FILE`);
  return Object.fromEntries(named);
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
