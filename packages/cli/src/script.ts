import type { KernelStore } from "@centella/backend-wasm";
import { keepKernels } from "./backends.ts";
import { main } from "./commandLine.ts";

/** A parameter of the function that the script is: see `start.ts`. */
declare const kernels: KernelStore;

// The program of `dist/script.cjs`: see `start.ts`, which knows these names, too.
keepKernels(kernels);
void main(async ([name]) => [name === "serve" ? (await import("./commands/serve.ts")).serve : (await import("./commands/run.ts")).run]);
