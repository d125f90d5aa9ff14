import { main } from "./commandLine.ts";
import { run } from "./commands/run.ts";

// The program of `dist/run.cjs`: see `start.ts`.
void main(async () => [run]);
