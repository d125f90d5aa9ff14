// Checks of models for checkDevice.mjs: [what, work] pairs, where work resolves to { ok, message }.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadModel } from "@centella/llm";

/** The models of llama.cpp's architecture test beside its logits; packages/llm/scripts/archDistances.mjs says how the folder is made. */
export function* llamaCppModels(folder, runtime, isWanted) {
  const ids = Array.from({ length: 24 }, (_, i) => (i * 7 + 3) % 128);
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".gguf") && isWanted(name.slice(0, -".gguf".length)))) {
    const expected = join(folder, `${file}.f32`);
    if (!existsSync(expected)) continue;
    yield [
      `llama.cpp's ${file}`,
      async () => {
        await using model = await loadModel(join(folder, file), { runtime, cacheType: "f32", activations: "ggml" });
        const error = relativeError(await model.logits(ids), floatsOf(readFileSync(expected)));
        return { ok: error < 1e-3, message: `relative error ${error.toExponential(2)}` };
      },
    ];
  }
}

/** Texts without an adapter and with one, in one batch, against llama.cpp's logits. */
export async function* adapterModels(runtime) {
  const { adapterGoldens, readAdapterGolden, sourcesOf } = await fixture("adapterFixture");
  const { familyModel, floats, readFamilyGolden } = await fixture("familyFixture");
  for (const name of adapterGoldens) {
    yield [
      `adapters ${name}`,
      async () => {
        const golden = readAdapterGolden(name);
        const base = readFamilyGolden(golden.model);
        const adapters = sourcesOf(golden).map((source, i) => ({ source, name: `a${i}` }));
        await using model = await loadModel(familyModel(base), { runtime, cacheType: "f32", sequences: 3, adapters });
        const scales = Object.fromEntries(golden.adapters.map(({ scale }, i) => [`a${i}`, scale]));
        const logits = await Promise.all([{}, scales, {}].map((each) => model.logits(base.ids, { adapters: each })));
        const expected = [base.logits, golden.logits, base.logits].map(floats);
        const error = Math.max(...logits.map((values, i) => relativeError(values, expected[i])));
        return { ok: error < 1e-3, message: `relative error ${error.toExponential(2)}` };
      },
    ];
  }
}

/** Models that draft for others, against llama.cpp's logits. */
export async function* headModels(backends, policy) {
  const { headGoldens, readHeadGolden } = await fixture("headFixture");
  const { headError } = await fixture("headError");
  for (const name of headGoldens) {
    yield [
      `head ${name}`,
      async () => {
        const error = await headError(readHeadGolden(name), { backends, policy });
        return { ok: error < 1e-3, message: `relative error ${error.toExponential(2)}` };
      },
    ];
  }
}

/** A module beside llm's tests. */
function fixture(name) {
  return import(new URL(`../../llm/test/${name}.ts`, import.meta.url).href);
}

export function relativeError(values, wanted) {
  if (values.length !== wanted.length) return Infinity;
  const norm = (numbers) => Math.sqrt(numbers.reduce((sum, value) => sum + value * value, 0));
  return norm(values.map((value, i) => value - wanted[i])) / norm(wanted);
}

export function floatsOf(bytes) {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
