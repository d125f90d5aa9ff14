import { existsSync } from "node:fs";
import { basename } from "node:path";
import { defaultStorage, findStored, type GgufFile, type PulledModel, pull, readGguf } from "@centella/gguf";
import { type OptionSpec, text } from "./options.ts";
import type { Output } from "./output.ts";
import { ProgressBar } from "./progress.ts";

/** FILE as llama.cpp's tools take it. */
export const fileOptions: { readonly model: OptionSpec<string>; readonly "hf-repo": OptionSpec<string> } = {
  model: text("FILE", "the model: stands for the argument FILE", { short: "m" }),
  "hf-repo": text("OWNER/REPO[:QUANT]", "a model on Hugging Face: stands for FILE as hf:OWNER/REPO:QUANT", { aliases: ["-hf", "-hfr"] }),
};

/** Puts `-m FILE` or `-hf REPO` in front of the other arguments, where FILE stands. */
export function withFile(
  { model, "hf-repo": repo }: { readonly model?: string; readonly "hf-repo"?: string },
  positionals: readonly string[],
): readonly string[] {
  const file = model ?? (repo === undefined ? undefined : `hf:${repo}`);
  return file === undefined ? positionals : [file, ...positionals];
}

/**
 * What a FILE argument stands for: a path, a stored model's name, or `hf:…` and URLs that end in `.gguf`, which are downloaded unless they
 * are stored. Returns the path of its first file.
 */
export async function modelPath(argument: string, signal: AbortSignal, output: Output): Promise<string> {
  if (argument.startsWith("hf:") || /^https?:\/\//.test(argument)) return pathOf(await pullWithBar(argument, signal, output));
  if (existsSync(argument)) return argument;
  const stored = await findStored(await defaultStorage(), argument);
  return stored === undefined ? argument : pathOf(stored);
}

/** Downloads with a bar on stderr. */
export async function pullWithBar(source: string, signal: AbortSignal, output: Output, refresh: boolean = false): Promise<PulledModel> {
  // A URL's query and user part may be secret.
  const label = URL.canParse(source) ? new URL(source).pathname : source;
  const bar = new ProgressBar(`downloading ${basename(label)}`, output);
  try {
    return await pull(source, { signal, refresh, onProgress: ({ done, total }) => bar.update(done, total) });
  } finally {
    bar.end();
  }
}

/** Opens a FILE argument for its header; a remote file is not downloaded. */
export async function openModel(argument: string, signal: AbortSignal, output: Output): Promise<GgufFile> {
  if (/^https?:\/\//.test(argument)) return readGguf(new URL(argument), { signal });
  return readGguf(await modelPath(argument, signal, output), { signal });
}

/** The first part's path stands for all of them: the others are next to it. */
export function pathOf({ input, name }: PulledModel): string {
  const [first] = input;
  return typeof first === "string" ? first : name;
}
