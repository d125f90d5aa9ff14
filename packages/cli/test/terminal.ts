import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bin } from "./centella.ts";

/** Whether there are terminals to test on. Python makes them: Node cannot without a native module. */
export const hasPty: boolean = spawnSync("python3", ["-c", "import pty"]).status === 0;

const driver = fileURLToPath(new URL("terminal.py", import.meta.url));

/** Keys to type, each after a text that the terminal shows. */
export type Steps = readonly (readonly [text: string, keys: string])[];

/** Runs the command on a terminal and types. Returns what the terminal has shown. */
export async function typed(
  args: readonly string[],
  steps: Steps,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly shown: string; readonly code: number }> {
  const command = [process.execPath, bin, ...args];
  const child = spawn("python3", [driver, JSON.stringify(command), JSON.stringify(steps)], {
    env: { ...process.env, CENTELLA_BACKEND: "wasm", TERM: "xterm", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  await new Promise((resolve) => child.on("close", resolve));
  return JSON.parse(stdout);
}
