import { existsSync } from "node:fs";
import { basename } from "node:path";
import { defaultStorage, findStored, type GgufFile, type PulledModel, pull, readGguf } from "@centella/gguf";
import { ProgressBar } from "./progress.ts";

/**
 * What a FILE argument stands for: a path, a stored model's name, or `hf:…` and URLs that end in `.gguf`, which are downloaded unless they
 * are stored. Gives the path of its first file.
 */
export async function modelPath(argument: string, signal: AbortSignal, { isQuiet }: { readonly isQuiet: boolean }): Promise<string> {
  if (argument.startsWith("hf:") || /^https?:\/\//.test(argument)) return pathOf(await pullWithBar(argument, signal, { isQuiet }));
  if (existsSync(argument)) return argument;
  const stored = await findStored(await defaultStorage(), argument);
  return stored === undefined ? argument : pathOf(stored);
}

/** Downloads with a bar on stderr. */
export async function pullWithBar(
  source: string,
  signal: AbortSignal,
  { isQuiet, refresh = false }: { readonly isQuiet: boolean; readonly refresh?: boolean },
): Promise<PulledModel> {
  const bar = new ProgressBar(basename(source), { isQuiet });
  try {
    return await pull(source, { signal, refresh, onProgress: ({ done, total }) => bar.update(done, total) });
  } finally {
    bar.end();
  }
}

/** Opens a FILE argument for its header; a remote one is not downloaded. */
export async function openModel(argument: string, signal: AbortSignal): Promise<GgufFile> {
  if (/^https?:\/\//.test(argument)) return readGguf(new URL(argument), { signal });
  return readGguf(await modelPath(argument, signal, { isQuiet: false }), { signal });
}

/** The first part's path stands for all of them: the others lie next to it. */
export function pathOf({ input, name }: PulledModel): string {
  const [first] = input;
  return typeof first === "string" ? first : name;
}
