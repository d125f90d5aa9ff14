import type { KernelStore } from "@centella/backend-wasm";
import { keepKernels } from "./backends.ts";
import type { Command } from "./command.ts";
import { main } from "./commandLine.ts";

/** A parameter of the function that the script is: see `start.ts`. */
declare const kernels: KernelStore;

// The program of `dist/script.cjs`: see `start.ts`, which knows these names, too.
keepKernels(kernels);
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import("./commands/run.ts")).run,
  serve: async () => (await import("./commands/serve.ts")).serve,
  batch: async () => (await import("./commands/batch.ts")).batch,
};
void main(async ([name = ""]) => [await commands[name]!()]);
