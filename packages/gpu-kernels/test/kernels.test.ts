import { readdirSync } from "node:fs";
import { ops } from "@centella/core";
import { expect, test } from "vitest";
import { gpuKernels } from "../src/index.ts";

test("files of GPU kernels are ops, and all are in the table", () => {
  const names = readdirSync(new URL("../src/kernels", import.meta.url)).map((file) => file.replace(".ts", ""));
  expect(names.filter((name) => !(name in ops))).toEqual([]);
  expect(Object.keys(gpuKernels).sort()).toEqual(names.sort());
});
