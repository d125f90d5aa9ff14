import type { Activations, DType } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { capabilitiesOf } from "../../src/device/capabilities.ts";
import { fullName } from "../../src/device/device.ts";
import { llamaProjections, projectedResults, projections } from "../kernels/projectedCache.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend, openUnguarded } from "../support/openBackend.ts";
import { expectClose, layers, load, otherFormsOf, results } from "./tunedLayers.ts";

await describeOpened("forms of products", openBackend(), ({ backend, device, gpu }) => {
  afterAll(() => backend.dispose());

  const cases: readonly (readonly [DType, Activations, readonly number[]])[] = [
    ["q4_K", "ggml", [1]],
    ["f16", "half", [1, 3, 20]],
    ["q4_K", "ggml", [3, 7, 20]],
    ["q6_K", "ggml", [1, 3, 7, 20]],
    ["q4_0", "f32", [1, 3, 20]],
  ];
  test.each(cases.slice(0, isWholeGrid ? undefined : 1))("with %s in mode %s give the same results", async (dtype, activations, counts) => {
    const program = layers({ dtype, activations, most: Math.max(...counts), depth: 256 });
    const plan = await load(await backend.compile(program));
    const expected = await Promise.all(counts.map((rows) => results(plan, rows)));
    const adapter = (await gpu.requestAdapter())!;
    const forms = [...otherFormsOf(program, capabilitiesOf(device, adapter, gpu, []), fullName(adapter.info))];
    const most = Math.max(...forms.map(([, names]) => names.length));
    expect(most).toBeGreaterThan(4);
    for (let i = 0; i < most; i++) {
      const tuning = new Map(forms.map(([key, names]) => [key, names[i % names.length]!]));
      const { backend: tuned } = await openBackend({ tuning });
      const other = await load(await tuned.compile(program));
      for (const [c, rows] of counts.entries()) expectClose(await results(other, rows), expected[c]!);
      await tuned.dispose();
    }
  });

  test.each([
    ["q4_K", "ggml"],
    ["q8_0", "ggml"],
    ["q4_K", "f32"],
  ] as const)("of which lanes read %s some steps ahead, in several turns, give the same results in mode %s", async (dtype, activations) => {
    const program = layers({ dtype, activations, most: 1, depth: 1024 });
    const expected = await results(await load(await backend.compile(program)), 1);
    // The last turn has no columns.
    const name = "128 lanes, 8 per column, 1 columns, 3 turns, subgroups of 4, 2 steps";
    const written: string[] = [];
    const tuning = { get: () => name, set: (_key: string, chosen: string) => void written.push(chosen) };
    const { backend: tuned } = await openBackend({ tuning });
    expectClose(await results(await load(await tuned.compile(program)), 1), expected);
    expect(written).toEqual([]);
    await tuned.dispose();
  });

  test.runIf(isWholeGrid)("that write to a cache give the same results", async () => {
    const program = projections({ ...llamaProjections, most: 1 }, false);
    const expected = await projectedResults(backend, program, 1);
    const tuning = new Map<string, string>();
    // Unguarded, because forms are timed.
    const { backend: tuned } = await openUnguarded({ tuning });
    for (const [i, values] of (await projectedResults(tuned, program, 1)).entries()) {
      // A value whose last bit differs may be rounded to the neighbour.
      for (const [at, value] of values.entries())
        expect(Math.abs(value - expected[i]![at]!)).toBeLessThan(2 ** -10 * (1 + Math.abs(value)));
    }
    expect(tuning.size).toBe(1);
    await tuned.dispose();
  });
});
