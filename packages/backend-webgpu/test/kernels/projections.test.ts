import type { Program } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { capabilitiesOf } from "../../src/device/capabilities.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend } from "../support/openBackend.ts";
import { Dispatches } from "../wgsl/kernelTexts.ts";
import { llamaProjections as llama, type ProjectionForm, projectedResults, projections } from "./projectedCache.ts";

await describeOpened("products and a write to a cache", openBackend(), ({ backend, device, gpu }) => {
  afterAll(() => backend.dispose());
  const dispatchCount = async (program: Program, rows: number): Promise<number> => {
    const capabilities = capabilitiesOf(device, (await gpu.requestAdapter())!, gpu, []);
    const all = new Dispatches(capabilities).ofProgram(program);
    return all.filter(({ dispatch }) => dispatch.sizeIn({ T: rows }).groups > 0).length;
  };

  test.each<readonly [string, ProjectionForm, readonly number[]]>([
    ["of a norm, in two types", llama, [1, 3]],
    ["to an f32 cache, of one token, with factors", { ...llama, cache: "f32", hasFactors: true, most: 1 }, [1]],
    [
      "part of each head, with narrow values",
      { ...llama, weights: ["q8_0", "q8_0", "q8_0"], widths: [24, 8], rope: { dims: 16, base: 500 }, hasNorm: false },
      [1, 2],
    ],
    ["as floats, of a norm", { ...llama, weights: ["f16", "f16", "f16"], activations: "half" }, [1]],
  ])("are one dispatch for one token: %s", async (_name, form, counts) => {
    const [together, apart] = [projections(form, false), projections(form, true)];
    for (const rows of counts) {
      const expected = await projectedResults(backend, apart, rows);
      for (const [i, data] of (await projectedResults(backend, together, rows)).entries()) {
        // A value whose last bit differs may be rounded to the neighbour.
        const error = Math.max(...data.map((value, at) => Math.abs(value - expected[i]![at]!) / (1 + Math.abs(value))));
        expect(error).toBeLessThan(i === 0 && form.cache === "f16" ? 2 ** -10 : 1e-5);
        expect(data.some((value) => value !== 0)).toBe(true);
      }
      const fewer = (await dispatchCount(apart, rows)) - (await dispatchCount(together, rows));
      expect(fewer).toBe(rows === 1 ? 1 : 0);
    }
  });

  test.each<readonly [string, ProjectionForm]>([
    ["pairs in the halves of a head", { ...llama, rope: { ropeType: "neox" } }],
    ["blocks of a cache", { ...llama, cache: "q8_0", widths: [32, 32] }],
    ["rows in several forms", { ...llama, hasFactors: true, hasNorm: false, weights: ["f16", "q4_K", "q6_K"] }],
  ])("stay apart: %s", async (_name, form) => {
    expect(await dispatchCount(projections(form, false), 1)).toBe(await dispatchCount(projections(form, true), 1));
  });
});
