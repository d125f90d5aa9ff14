import type { Command } from "../command.ts";

/** Loads a command by its name, in the order of the help. Each command is a file of its own, so that one starts without the others' code. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import("./run.ts")).run,
  chat: async () => (await import("./chat.ts")).chat,
  serve: async () => (await import("./serve.ts")).serve,
  batch: async () => (await import("./batch.ts")).batch,
  embed: async () => (await import("./embed.ts")).embed,
  rerank: async () => (await import("./rerank.ts")).rerank,
  bench: async () => (await import("./bench.ts")).bench,
  inspect: async () => (await import("./inspect.ts")).inspect,
  search: async () => (await import("./search.ts")).search,
  pull: async () => (await import("./pull.ts")).pull,
  models: async () => (await import("./models.ts")).models,
  rm: async () => (await import("./rm.ts")).rm,
  split: async () => (await import("./split.ts")).split,
  merge: async () => (await import("./merge.ts")).merge,
  quantize: async () => (await import("./quantize.ts")).quantize,
  tokenize: async () => (await import("./tokenize.ts")).tokenize,
  logits: async () => (await import("./logits.ts")).logits,
  perplexity: async () => (await import("./perplexity.ts")).perplexity,
  grammar: async () => (await import("./grammar.ts")).grammar,
  gpu: async () => (await import("./gpu.ts")).gpu,
  ps: async () => (await import("./ps.ts")).ps,
  version: async () => (await import("./version.ts")).version,
  completion: async () => (await import("./completion.ts")).completion(loadCommands),
};

const versionFlags: readonly string[] = ["-v", "-V", "--version"];

/** Every command, in the order of the help. */
export function loadCommands(): Promise<readonly Command[]> {
  return Promise.all(Object.values(loaders).map((load) => load()));
}

/** The command that a command line names, or every command: for the help, for aliases and for suggestions. */
export async function commandsFor([name = ""]: readonly string[]): Promise<readonly Command[]> {
  if (versionFlags.includes(name)) return [];
  const load = Object.hasOwn(loaders, name) ? loaders[name] : undefined;
  return load === undefined ? loadCommands() : [await load()];
}
