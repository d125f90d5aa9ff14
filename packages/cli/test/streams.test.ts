import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { bin, tiny } from "./centella.ts";

const endless = ["run", tiny, "-p", "Tell me a tale.", "--temp", "2", "--overflow", "shift", "--logit-bias", "4:-inf", "--backend", "wasm"];

function start(args: readonly string[], stdio: StdioOptions = ["ignore", "pipe", "pipe"]): ChildProcess {
  return spawn(process.execPath, [bin, ...args], { stdio });
}

function exitCodeOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on("close", resolve));
}

test("a reader that closes stdout early ends the command without an error", async () => {
  const child = start(endless);
  child.stdout!.once("data", () => child.stdout!.destroy());
  const [code, stderr] = await Promise.all([exitCodeOf(child), text(child.stderr!)]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("a reader that closes stderr early changes nothing", async () => {
  const child = start(["run", tiny, "-p", "x", "-n", "1", "--verbose", "--backend", "wasm"]);
  child.stderr!.destroy();
  const [code, stdout] = await Promise.all([exitCodeOf(child), text(child.stdout!)]);
  expect({ code, lines: stdout.split("\n").length }).toEqual({ code: 0, lines: 2 });
});

// Only Linux has a device that refuses every write.
test.skipIf(!existsSync("/dev/full"))("a result that cannot be written is a failure", async () => {
  const full = openSync("/dev/full", "w");
  const child = start(["version"], ["ignore", full, "pipe"]);
  const [code, stderr] = await Promise.all([exitCodeOf(child), text(child.stderr!)]);
  closeSync(full);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^centella: cannot write to stdout: ENOSPC.*\n$/) });
});
