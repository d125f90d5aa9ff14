import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";

// The built command, as users run it: `npm test` builds first.
export const bin: string = fileURLToPath(new URL("../bin/centella.cjs", import.meta.url));
/** The embedded model's file. */
export const tiny: string = fileURLToPath(new URL("../../model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function centella(
  args: readonly string[],
  { env = {}, input = "", interruptAfter }: { env?: Record<string, string>; input?: string; interruptAfter?: RegExp } = {},
): Promise<Result> {
  const child = spawn(process.execPath, [bin, ...args], { env: { ...process.env, CENTELLA_BACKEND: "", ...env } });
  let stdout = "";
  let stderr = "";
  let isInterrupted = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    // Once: the second one ends the process at once.
    if (!isInterrupted && interruptAfter?.test(stdout) === true) isInterrupted = child.kill("SIGINT");
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.end(input);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}

/** One line that says what is wrong, a non-zero exit, no stack trace. */
export function expectOneLine({ code, stderr }: Result, message: RegExp | string, exit = 1): void {
  expect(stderr).toMatch(message);
  expect(
    stderr
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("centella: see ")),
  ).toHaveLength(1);
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(code).toBe(exit);
}
