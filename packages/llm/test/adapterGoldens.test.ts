import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AdapterOptions, loadModel } from "../src/index.ts";
import { adapterGoldens, readAdapterGolden, sourcesOf } from "./adapterFixture.ts";
import { familyModel, floats, readFamilyGolden } from "./familyFixture.ts";
import { relativeError } from "./vectors.ts";

describe.each(["reference", "wasm"] as const)("adapters on %s compute what llama.cpp does", (backend) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
  });
  afterAll(() => runtime.dispose());

  test.each(adapterGoldens)("%s", async (name) => {
    const golden = readAdapterGolden(name);
    const base = readFamilyGolden(golden.model);
    const [expected, plain] = [floats(golden.logits), floats(base.logits!)];
    expect(relativeError(expected, plain)).toBeGreaterThan(0.1);
    const load = (adapters: readonly AdapterOptions[]) =>
      loadModel(familyModel(base), { runtime, cacheType: "f32", sequences: 3, adapters });
    const sources = sourcesOf(golden);
    const scales = golden.adapters.map(({ scale }) => scale);
    await using always = await load(sources.map((source, i) => ({ source, scale: scales[i] })));
    expect(relativeError(await always.logits(base.ids), expected)).toBeLessThan(1e-4);

    // Chosen by a call: half of the scale when it is loaded, and twice of it for the call.
    await using chosen = await load(sources.map((source, i) => ({ source, name: `a${i}`, scale: 0.5 })));
    const adapters = Object.fromEntries(scales.map((scale, i) => [`a${i}`, 2 * scale]));
    const [own, none] = [await chosen.logits(base.ids, { adapters }), await chosen.logits(base.ids)];
    expect(relativeError(own, expected)).toBeLessThan(1e-4);
    expect(relativeError(none, plain)).toBeLessThan(1e-4);
    // The first call has a run of its own. The others share one. The reference rounds recurrent states where the runs of a text end.
    const limit = backend === "wasm" ? 0 : 1e-6;
    const together = [none, own, none].map((alone, i) => ({ alone, logits: chosen.logits(base.ids, i === 1 ? { adapters } : {}) }));
    for (const { alone, logits } of together) expect(relativeError(await logits, alone)).toBeLessThanOrEqual(limit);
  });
});
