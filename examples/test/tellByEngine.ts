import { fork } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";

/**
 * Starts the utility process of the Electron example and asks it for a story. Node runs it in place of Electron: a preloaded script has the
 * same `process.parentPort`.
 */
export async function tellByEngine(path: string): Promise<{ readonly story: string; readonly statuses: readonly string[] }> {
  const engine = fork(path, {
    execArgv: ["--import", new URL("parentPort.mjs", import.meta.url).href],
    env: { ...process.env, NODE_OPTIONS: undefined },
  });
  const statuses: string[] = [];
  let story = "";
  engine.send({ topic: "an owl" });
  engine.on("message", ({ status, text = "" }: { readonly status?: string; readonly text?: string }) => {
    if (status !== undefined) statuses.push(status);
    story += text;
  });
  await expect.poll(() => story.length).toBeGreaterThan(100);
  await expect.poll(() => statuses.at(-1)).toBe("ready wasm");
  const ended = once(engine, "close");
  engine.kill();
  await ended;
  return { story, statuses };
}
