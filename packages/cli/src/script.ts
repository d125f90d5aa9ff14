import type { Command } from "./command.ts";
import { main } from "./commandLine.ts";

// The program of `dist/script.cjs`: see `start.ts`, which knows these names, too.
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import("./commands/run.ts")).run,
  serve: async () => (await import("./commands/serve.ts")).serve,
  batch: async () => (await import("./commands/batch.ts")).batch,
};
void main(async ([name = ""]) => [await commands[name]!()]);
