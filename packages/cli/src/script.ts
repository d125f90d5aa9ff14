import { main } from "./commandLine.ts";

// The program of `dist/script.cjs`: see `start.ts`, which knows these names, too.
void main(async ([name]) => [name === "serve" ? (await import("./commands/serve.ts")).serve : (await import("./commands/run.ts")).run]);
