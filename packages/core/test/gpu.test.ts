import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { gpuKernels } from "../src/gpu/index.ts";
import { ops } from "../src/ops/index.ts";

test("files of GPU kernels are ops, and all are in the table", () => {
  const names = readdirSync(new URL("../src/gpu/kernels", import.meta.url)).map((file) => file.replace(".ts", ""));
  expect(names.filter((name) => !(name in ops))).toEqual([]);
  expect(Object.keys(gpuKernels).sort()).toEqual(names.sort());
});
