import { readdirSync } from "node:fs";
import { ops } from "@centella/core/backend";
import { expect, test } from "vitest";
import { expressions } from "../src/elementwise/expressions/index.ts";
import { kernels } from "../src/kernels/index.ts";
import { expressions as lazyExpressions, kernels as other } from "../src/kernels/lazy/arrayKernels.ts";
import { kernels as copy } from "../src/kernels/lazy/copyKernels.ts";
import { kernels as expert } from "../src/kernels/lazy/moeKernels.ts";
import { kernels as reduction } from "../src/kernels/lazy/reductionKernels.ts";
import { kernels as sampling } from "../src/kernels/lazy/samplingKernels.ts";
import { kernels as recurrent } from "../src/kernels/lazy/ssmKernels.ts";
import { kernels as image } from "../src/kernels/lazy/visionKernels.ts";
import { traitsOf } from "../src/kernels/traits.ts";
import { compileOnce, emitModule } from "../src/linking/baseModule.ts";
import { loadParts } from "../src/linking/lazyParts.ts";
import { targets } from "./shared.ts";

await loadParts();

test("every op that computes has a kernel: an expression, or a file of its name", () => {
  const files = readdirSync(new URL("../src/kernels", import.meta.url))
    .filter((name) => name.endsWith(".ts") && !["index.ts", "traits.ts"].includes(name))
    .map((name) => name.slice(0, -3));
  const computing = Object.values(ops).flatMap((op) => (op.alias === true ? [] : [op.name]));
  expect(files.filter((name) => !computing.includes(name))).toEqual([]);
  const lazy = { ...copy, ...expert, ...image, ...recurrent, ...reduction, ...sampling, ...other };
  expect([...Object.keys(kernels), ...Object.keys(lazy)].sort()).toEqual(
    [...Object.keys(expressions), ...Object.keys(lazyExpressions), ...files].sort(),
  );
  expect(computing.filter((op) => !(op in kernels || op in lazy))).toEqual([]);
});

test("lazy kernels are in the file that the table names", () => {
  const files = { array: other, copy, moe: expert, reduction, sampling, ssm: recurrent, vision: image };
  for (const [file, own] of Object.entries(files))
    for (const name of Object.keys(own)) expect([name, traitsOf({ name }).file ?? "array"]).toEqual([name, file]);
});

test.each(targets)("the module validates and is the same every time, relaxed: $relaxed", (target) => {
  const { bytes } = emitModule(target);
  expect(WebAssembly.validate(bytes)).toBe(true);
  expect(emitModule(target).bytes).toEqual(bytes);
});

test("modules are compiled once for each kind of products of bytes, whose code differs", async () => {
  const dots = ["quads", "mixedQuads", "pairs", "wide"] as const;
  const relaxed = targets.at(-1)!.relaxed;
  const bytes = dots.map((each) => emitModule({ relaxed: true, dots: each }).bytes);
  expect(new Set(bytes.map((each) => each.join())).size).toBe(dots.length);
  const modules = await Promise.all(
    [...dots, ...dots].map((each) => compileOnce({ relaxed, dots: relaxed ? each : "wide" }, false, false, "all")),
  );
  expect(new Set(modules.map(({ module }) => module)).size).toBe(relaxed ? dots.length : 1);
});
