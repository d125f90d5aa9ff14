import { expect, test, vi } from "vitest";
import { errorOf, operandsOf } from "../src/browser/tasks.ts";
import { browserCommand } from "../src/cli/browser.ts";

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

test("a project computes every task in a page", { timeout: 180_000 }, async ({ skip }) => {
  const printed: string[] = [];
  for (const method of ["log", "error"] as const) vi.spyOn(console, method).mockImplementation((line: string) => void printed.push(line));
  const code = await browserCommand(["--size", "64", "--samples", "1", "--project", "Centella"]);
  vi.restoreAllMocks();
  const text = printed.join("\n");
  skip(text.startsWith("skipped"), text);
  expect(code).toBe(0);
  expect(text).toMatch(/\| matmul 64² +\| +[\d.]+ \|/);
  expect(text).toMatch(/\| softmax 64² +\| +[\d.]+ \|/);
  expect(text).toMatch(/\| conv2d 3×3, 32 channels of 16² +\| +[\d.]+ \|/);
  expect(text).toMatch(/\| 10 elementwise ops on 64² +\| +[\d.]+ \|/);
});
