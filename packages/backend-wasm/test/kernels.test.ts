import { readdirSync } from "node:fs";
import { ops } from "@centella/core";
import { expect, test } from "vitest";
import { expressions } from "../src/elementwise/expressions/index.ts";
import { kernels } from "../src/kernels/index.ts";
import { emitModule } from "../src/module.ts";
import { targets } from "./shared.ts";

test("every op that computes has a kernel: an expression, or a file of its name", () => {
  const files = readdirSync(new URL("../src/kernels", import.meta.url))
    .filter((name) => name.endsWith(".ts") && name !== "index.ts")
    .map((name) => name.slice(0, -3));
  const computing = Object.values(ops).flatMap((op) => (op.alias === true ? [] : [op.name]));
  expect(files.filter((name) => !computing.includes(name))).toEqual([]);
  expect(Object.keys(kernels).sort()).toEqual([...Object.keys(expressions), ...files].sort());
  expect(computing.filter((op) => !(op in kernels))).toEqual([]);
});

test.each(targets)("the module validates and is the same every time, relaxed: $relaxed", (target) => {
  const { bytes } = emitModule(target);
  expect(WebAssembly.validate(bytes)).toBe(true);
  expect(emitModule(target).bytes).toEqual(bytes);
});
