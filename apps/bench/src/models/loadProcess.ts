import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { peakResidentBytes } from "@centella/cli/peakMemory";
import { lastOf } from "@centella/quant/checks";

import { Skip } from "../runner/subject.ts";
import type { ModelCompetitor } from "./competitor.ts";

/** Measurements of a fresh process by itself. */
export interface LoadMeasurement {
  /** From the call that loads to the first token. */
  readonly seconds: number;
  /** Largest resident set of the whole process, the JavaScript engine included. */
  readonly peakBytes: number;
  /** Largest resident set before anything was loaded: the engine and the program's own code. */
  readonly startBytes: number;
}

/** Subcommand that a fresh process is started with. */
export const loadCommand = "load-process";

/** Loads a model in a process of its own. @throws {Skip} with the process's reason */
export async function measureLoad(competitor: string, file: string, threads: number): Promise<LoadMeasurement> {
  const main = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, main, loadCommand, competitor, file, String(threads)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  if (code === 3) throw new Skip(output.stderr.trim());
  if (code !== 0) throw new Error(`loading in a process of its own: expected exit code 0, got ${code}: ${output.stderr.trim()}`);
  return JSON.parse(lastOf(output.stdout.trim().split("\n"))) as LoadMeasurement;
}

/** The process's side: prints the measurement, or the reason with exit code 3. */
export async function runLoadProcess({ open }: ModelCompetitor, file: string): Promise<number> {
  try {
    const startBytes = peakResidentBytes();
    const start = performance.now();
    const runner = await open(file, 512);
    await runner.prefill([3]);
    const seconds = (performance.now() - start) / 1e3;
    await runner.dispose();
    const measured: LoadMeasurement = { seconds, peakBytes: peakResidentBytes(), startBytes };
    console.log(JSON.stringify(measured));
    return 0;
  } catch (error) {
    if (!(error instanceof Skip)) throw error;
    console.error(error.message);
    return 3;
  }
}
