import { existsSync } from "node:fs";
import { basename } from "node:path";
import { defaultStorage, findStored, type GgufFile, type PulledModel, placeOf, readGguf } from "@centella/gguf";
import type { Context } from "./command.ts";
import { type OptionSpec, text } from "./options.ts";
import { ProgressBar } from "./progress.ts";

/** Options that name the model, as in llama.cpp's tools. */
export const fileOptions: { readonly model: OptionSpec<string>; readonly "hf-repo": OptionSpec<string> } = {
  model: text("FILE", "the model, in place of the argument FILE", { short: "m" }),
  "hf-repo": text("OWNER/REPO[:QUANT]", "a model on Hugging Face, in place of FILE; the same as hf:OWNER/REPO:QUANT", {
    aliases: ["-hf", "-hfr"],
  }),
};

/** Returns the positional arguments with the value of `-m` or `-hf` as the first, FILE. */
export function withFile(
  { model, "hf-repo": repo }: { readonly model?: string; readonly "hf-repo"?: string },
  positionals: readonly string[],
): readonly string[] {
  const file = model ?? (repo === undefined ? undefined : `hf:${repo}`);
  return file === undefined ? positionals : [file, ...positionals];
}

/** Resolves a FILE argument. The name of a stored model becomes the path of its first file; a path, URL or `hf:…` is returned unchanged. */
export async function modelSource(argument: string): Promise<string> {
  if (placeOf(argument).kind !== "path" || existsSync(argument)) return argument;
  return (await storedPath(argument)) ?? argument;
}

async function storedPath(name: string): Promise<string | undefined> {
  const stored = await findStored(await defaultStorage(), name);
  return stored === undefined ? undefined : pathOf(stored);
}

/** Opens a FILE argument to read its data. A remote file is downloaded unless it is stored. */
export async function openModel(argument: string, { signal, output }: Context): Promise<GgufFile> {
  const bar = new ProgressBar(`downloading ${fileName(argument)}`, output);
  const onDownload = (done: number, total: number | undefined): void => bar.update(done, total);
  return readGguf(await modelSource(argument), { signal, cache: true, onDownload }).finally(() => bar.end());
}

/** Opens a FILE argument to read its header. Nothing else of a remote file is downloaded. */
export async function openHeader(argument: string, { signal }: Context): Promise<GgufFile> {
  const stored = placeOf(argument).kind === "hub" ? await storedPath(argument) : undefined;
  return readGguf(stored ?? (await modelSource(argument)), { signal, cache: false });
}

/** Returns the last part of a path or URL, without the query of a URL, which may hold secrets. */
export function fileName(source: string | URL): string {
  const place = placeOf(source);
  return basename(place.kind === "url" ? place.url.pathname : String(source));
}

/** Returns the path of the model's first file. The other parts of a split model are next to it. */
export function pathOf({ input, name }: PulledModel): string {
  const [first] = input;
  return typeof first === "string" ? first : name;
}
