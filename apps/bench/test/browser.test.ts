import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { browserReceipt } from "../src/browser/receipt.ts";
import { errorOf, operandsOf } from "../src/browser/tasks.ts";
import { browserCommand } from "../src/cli/browser.ts";
import { checkReceipt } from "../src/receipts/check.ts";
import { receiptHead } from "../src/receipts/head.ts";
import { readReceipts } from "../src/receipts/store.ts";

test("results are compared with f64", () => {
  const task = { kind: "chain", n: 4 } as const;
  const operands = operandsOf(task);
  const [x, y, z] = operands.map(({ data }) => data) as [Float32Array, Float32Array, Float32Array];
  const right = x.map((value, i) => {
    let result = value;
    for (let step = 0; step < 5; step++) result = (result + y[i]!) * z[i]!;
    return result;
  });
  expect(errorOf(task, operands, right)).toBeLessThan(1e-6);
  expect(errorOf(task, operands, new Float32Array(16))).toBe(1);
  expect(errorOf(task, operands, new Float32Array())).toBeNaN();
});

test("a size that is not measured is refused with those that are", async () => {
  await expect(browserCommand(["--size", "100"])).rejects.toThrow("--size: expected one of 64, 256, 512, 1024, 2048, 4096, got 100");
});

test("a page and a process are not measured at once", async () => {
  await expect(browserCommand(["--node", "--chromium", "chrome"])).rejects.toThrow(
    "--node: expected no --chromium beside it, got both; leave one out",
  );
});

test("a project computes every task in a page", async ({ skip }) => {
  const printed: string[] = [];
  for (const method of ["log", "error"] as const) vi.spyOn(console, method).mockImplementation((line: string) => void printed.push(line));
  const folder = mkdtempSync(join(tmpdir(), "bench-browser-"));
  const json = join(folder, "browser.json");
  const code = await browserCommand(["--size", "64", "--samples", "10", "--project", "Centella", "--json", json]);
  vi.restoreAllMocks();
  const text = printed.join("\n");
  skip(text.startsWith("skipped"), text);
  expect(code).toBe(0);
  expect(text).toMatch(/\| matmul 64² +\| +[\d.]+ \|/);
  expect(text).toMatch(/\| softmax 64² +\| +[\d.]+ \|/);
  expect(text).toMatch(/\| conv2d 3×3, 32 channels of 16² +\| +[\d.]+ \|/);
  expect(text).toMatch(/\| 10 elementwise ops on 64² +\| +[\d.]+ \|/);
  const [receipt] = readReceipts(json);
  rmSync(folder, { recursive: true });
  expect(receipt!.rows.map(({ id }) => id)).toContain("matmul 64²");
  // What remains is whether the commit is clean and on main.
  expect(checkReceipt(receipt!, folder).filter((problem) => !problem.startsWith("commit "))).toEqual([]);
});

test("a receipt has the failures of ours, and peers that break are skipped", () => {
  const head = receiptHead("browser", "pnpm bench browser");
  const { rows } = browserReceipt(head, {
    adapter: "GPU",
    missing: { "onnxruntime-web": "not installed" },
    tasks: [
      { name: "matmul 64²", results: { Centella: { seconds: [1], error: 1 }, "tfjs-backend-webgpu": { seconds: [], failed: "lost" } } },
    ],
  });
  expect(rows[0]!.subjects).toEqual([
    { name: "Centella", side: "ours", failed: "wrong result: error 1.0" },
    { name: "tfjs-backend-webgpu", side: "peer", skipped: "lost" },
    { name: "onnxruntime-web", side: "peer", skipped: "not installed" },
  ]);
});
