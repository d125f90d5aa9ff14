import { readdirSync, readFileSync } from "node:fs";
import { type AnyOp, ops } from "@centella/core/backend";
import { expect, test } from "vitest";
import { gpuKernels } from "../src/index.ts";

test("every file of a GPU kernel is named after an op and is in the table", () => {
  const names = readdirSync(new URL("../src/kernels", import.meta.url)).map((file) => file.replace(".ts", ""));
  expect(names.filter((name) => !(name in ops))).toEqual([]);
  expect(Object.keys(gpuKernels).sort()).toEqual(names.sort());
});

test("the README lists exports that exist", () => {
  const textOf = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
  const names = [...textOf("../README.md").matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell]) => cell!.match(/(?<=`)\w+(?=`)/g) ?? []);
  // Types are exports, too.
  const exported = new Set(textOf("../src/index.ts").match(/\w+/g));
  expect(names).toContain("gpuKernels");
  expect(names.filter((name) => !exported.has(name))).toEqual([]);
});

test("elementwise ops on f32 can be fused", () => {
  const fusable = new Set(Object.entries(gpuKernels).flatMap(([name, { element }]) => (element === undefined ? [] : [name])));
  const apart = (Object.values(ops) as readonly AnyOp[]).filter(({ name, elementwise }) => elementwise === true && !fusable.has(name));
  // Ops whose inputs or results are bool, or of any dtype.
  const expected = ["equal", "greater", "greaterEqual", "less", "lessEqual", "notEqual", "where"];
  const logical = ["logicalAnd", "logicalNot", "logicalOr", "logicalXor"];
  expect(apart.map(({ name }) => name).sort()).toEqual([...expected, ...logical].sort());
});
