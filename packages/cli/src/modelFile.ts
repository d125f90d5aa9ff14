import { existsSync } from "node:fs";
import { basename } from "node:path";
import { defaultStorage, findStored, type GgufFile, type PulledModel, placeOf, readGguf } from "@centella/gguf";
import type { Context } from "./command.ts";
import { type OptionSpec, text } from "./options.ts";
import { ProgressBar } from "./progress.ts";

/** FILE as llama.cpp's tools take it. */
export const fileOptions: { readonly model: OptionSpec<string>; readonly "hf-repo": OptionSpec<string> } = {
  model: text("FILE", "the model: stands for the argument FILE", { short: "m" }),
  "hf-repo": text("OWNER/REPO[:QUANT]", "a model on Hugging Face: stands for FILE as hf:OWNER/REPO:QUANT", { aliases: ["-hf", "-hfr"] }),
};

/** Puts `-m FILE` or `-hf REPO` before the other arguments, as FILE. */
export function withFile(
  { model, "hf-repo": repo }: { readonly model?: string; readonly "hf-repo"?: string },
  positionals: readonly string[],
): readonly string[] {
  const file = model ?? (repo === undefined ? undefined : `hf:${repo}`);
  return file === undefined ? positionals : [file, ...positionals];
}

/** What a FILE argument stands for: a path, URL or `hf:…` stays, and the name of a stored model becomes the path of its first file. */
export async function modelSource(argument: string): Promise<string> {
  if (placeOf(argument).kind !== "path" || existsSync(argument)) return argument;
  return (await storedPath(argument)) ?? argument;
}

async function storedPath(name: string): Promise<string | undefined> {
  const stored = await findStored(await defaultStorage(), name);
  return stored === undefined ? undefined : pathOf(stored);
}

/** Opens a FILE argument whose data is wanted: a file that is not on this machine is downloaded, unless it is stored. */
export async function openModel(argument: string, { signal, output }: Context): Promise<GgufFile> {
  const bar = new ProgressBar(`downloading ${fileName(argument)}`, output);
  const onDownload = (done: number, total: number | undefined): void => bar.update(done, total);
  return readGguf(await modelSource(argument), { signal, cache: true, onDownload }).finally(() => bar.end());
}

/** Opens a FILE argument for its header: of a file that is not on this machine, nothing else is downloaded. */
export async function openHeader(argument: string, { signal }: Context): Promise<GgufFile> {
  const stored = placeOf(argument).kind === "hub" ? await storedPath(argument) : undefined;
  return readGguf(stored ?? (await modelSource(argument)), { signal, cache: false });
}

/** The last part of a path or URL, without what may be a secret in a URL's query. */
export function fileName(source: string | URL): string {
  const place = placeOf(source);
  return basename(place.kind === "url" ? place.url.pathname : String(source));
}

/** The first part's path stands for all of them: the others are next to it. */
export function pathOf({ input, name }: PulledModel): string {
  const [first] = input;
  return typeof first === "string" ? first : name;
}
