// Checks of models for checkDevice.mjs: [what, work] pairs, where work resolves to { ok, message }.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadModel } from "@centella/llm";

/** Least cosine of logits with exact ones, and least share of positions with the same choice, where products round to halves. */
export const leastCosine = 0.999;
export const leastAgreed = 0.99;

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

/** Models whose products may round to halves, as they do by default on CUDA, beside llama.cpp's logits of the given ids. */
export function* halfModels(models, runtime, tokens) {
  for (const { name, path, logits } of models) {
    yield [
      `${name} with half activations`,
      async () => {
        await using model = await loadModel(path, { runtime, activations: "half" });
        const { cosine, agreed } = agreement(await model.logits(tokens), floatsOf(readFileSync(logits)), model.info.vocabSize);
        const message = `cosine ${cosine.toFixed(6)}, ${agreed} of ${tokens.length} choices agree`;
        return { ok: cosine >= leastCosine && agreed >= leastAgreed * tokens.length, message };
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

/** The cosine of logits with others, and the number of rows of `width` whose largest element is the same. */
export function agreement(values, wanted, width) {
  if (values.length !== wanted.length) return { cosine: -1, agreed: 0 };
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const cosine = dot(values, wanted) / Math.sqrt(dot(values, values) * dot(wanted, wanted));
  const rows = Array.from({ length: values.length / width }, (_, row) => row * width);
  return { cosine, agreed: rows.filter((from) => argmax(values, from, width) === argmax(wanted, from, width)).length };
}

/** Place, counted from `from`, of the largest of `length` numbers. */
export function argmax(values, from, length) {
  let best = 0;
  for (let i = 1; i < length; i++) if (values[from + i] > values[from + best]) best = i;
  return best;
}

export function floatsOf(bytes) {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
