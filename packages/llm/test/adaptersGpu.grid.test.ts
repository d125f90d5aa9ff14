import { cuda } from "@centella/backend-cuda";
import { type BackendFactory, createRuntime } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { adapterGoldens, readAdapterGolden, sourcesOf } from "./adapterFixture.ts";
import { familyModel, floats, readFamilyGolden } from "./familyFixture.ts";
import { interpreted, opens, software } from "./gpus.ts";
import { relativeError } from "./vectors.ts";

const sample = isWholeGrid ? ["every-product", "experts"] : ["every-product"];

test.skipIf(!(await opens(software))).each(sample)(
  "%s of sessions on WebGPU computes what llama.cpp does (skipped without a device)",
  (name) => expectGolden(software, name),
);

test.skipIf(!(await opens(cuda()))).each(adapterGoldens)(
  "%s of sessions on CUDA computes what llama.cpp does (skipped without a device)",
  (name) => expectGolden(cuda(), name),
);

test.each(sample)("%s of sessions as interpreted PTX computes what llama.cpp does", (name) => expectGolden(interpreted, name));

async function expectGolden(factory: BackendFactory, name: string): Promise<void> {
  const golden = readAdapterGolden(name);
  const base = readFamilyGolden(golden.model);
  await using runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  const options = { runtime, cacheType: "f32", contextLength: 32, batchSize: 8, sequences: 3 } as const;
  const adapters = sourcesOf(golden).map((source, i) => ({ source, name: `a${i}` }));
  await using model = await loadModel(familyModel(base), { ...options, adapters });
  const scales = Object.fromEntries(golden.adapters.map(({ scale }, i) => [`a${i}`, scale]));
  const ids = base.ids.slice(0, 4);
  const count = ids.length * model.info.vocabSize;
  // The first call has a run of its own. The others share one.
  const all = await Promise.all([{}, scales, {}].map((each) => model.logits(ids, { adapters: each })));
  for (const [i, expected] of [base.logits!, golden.logits, base.logits!].entries())
    expect(relativeError(all[i]!, floats(expected).subarray(0, count))).toBeLessThan(1e-3);
}
