import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TorchPeer } from "../../src/gpu/torch.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bench-torch-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the PyTorch peer", () => {
  const script = (body: string): string => {
    const file = join(folder, "peer.mjs");
    writeFileSync(file, `const say = (answer) => console.log(JSON.stringify(answer));\n${body}`);
    return file;
  };
  const task = { op: "argmax", shape: [1, 4] } as const;

  test("answers tasks one by one", async () => {
    const file = script(`say({ ready: "PyTorch 0" });
      for await (const line of (await import("node:readline")).createInterface({ input: process.stdin }))
        say(JSON.parse(line).op === "argmax" ? { seconds: [1, 2] } : { skipped: "OutOfMemoryError: 3 GiB" });`);
    const peer = await TorchPeer.open(process.execPath, file);
    expect(peer.name).toBe("PyTorch 0");
    expect(await peer.time(task, 2)).toEqual([1, 2]);
    await expect(peer.time({ ...task, op: "sum" }, 2)).rejects.toThrow("OutOfMemoryError: 3 GiB");
    expect(await peer.time(task, 2)).toEqual([1, 2]);
    await peer.dispose();
  });

  test("is skipped with the reason", async () => {
    await expect(TorchPeer.open(process.execPath, script(`say({ skipped: "no CUDA device" });`))).rejects.toThrow("no CUDA device");
    await expect(TorchPeer.open(process.execPath, script("process.exit(3);"))).rejects.toThrow("the script ended early");
    await expect(TorchPeer.open(join(folder, "python3"))).rejects.toThrow(/ENOENT/);
    const ended = await TorchPeer.open(process.execPath, script(`say({ ready: "PyTorch 0" });`));
    await expect(ended.time(task, 2)).rejects.toThrow("the script ended early");
    await ended.dispose();
  });

  test("starts as a script of its own wherever Python is", async () => {
    if (!["/usr/bin/python3", "/usr/local/bin/python3"].some((path) => existsSync(path))) return;
    const opened = await TorchPeer.open().catch((error: unknown) => String(error));
    if (typeof opened === "string") expect(opened).toMatch(/Python has no PyTorch: No module named 'torch'$|PyTorch finds no CUDA device/);
    else await opened.dispose();
  });
});
