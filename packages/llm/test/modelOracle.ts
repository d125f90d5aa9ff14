import { createRuntime, reference, UnsupportedError } from "@centella/core";
import { describe, expect, type TestContext, test } from "vitest";
import { type LoadModelOptions, loadModel, type Model } from "../src/index.ts";
import { argmaxRows, type Greedy, greedyRuns, hasShared, portableChoices, readFloats, readIds, tiny } from "./modelFiles.ts";
import { shared } from "./shared.ts";
import type { SuiteContext } from "./suiteContext.ts";
import { cosine, relativeError } from "./vectors.ts";

const skipped = hasShared ? "" : " (skipped: no outside test data at CENTELLA_SHARED)";
const describeShared = describe.skipIf(!hasShared);

/** llama.cpp computed its oracles with an f32 cache. */
const exactCache = { cacheType: "f32" } as const;

/** Limit for F16 weights. llama.cpp rounds activations to f16 before these products, and exact arithmetic differs by up to 1e-3. */
const f16Error = 1e-3;
/**
 * Limit for "ggml" arithmetic. A CPU adds in f64 or f32 in another order than ggml, so a few activations round to the neighbouring 8-bit
 * value, and the sums of q8_1 are f16 in ggml. GPUs also have their own `exp` and `inverseSqrt`, so more activations round differently.
 * Each such step is as large as the rounding error itself.
 */
const roundedError = (isExact: boolean): number => (isExact ? 3e-3 : 2e-2);
/** Limit for the small test models of each type. They have so few tokens that no activation rounds differently on a CPU. */
const roundedTypeError = (isExact: boolean): number => (isExact ? 1e-3 : 2e-2);
/** Limit for exact arithmetic with BF16 weights: llama.cpp rounds activations to bf16, which has 8 significant bits. */
const bf16Error = 3e-3;
/** Limit for exact arithmetic compared with llama.cpp's 8-bit activations. */
const activationError = 3e-2;
const activationCosine = 0.999;

const architectures = [
  "llama-dense",
  "cohere2-dense",
  "gemma-dense",
  "gemma2-dense",
  "gemma3-dense",
  "gpt2-dense",
  "granite-dense",
  "mistral3-dense",
  "olmo2-dense",
  "phi2-dense",
  "phi3-dense",
  "qwen2-dense",
  "qwen3-dense",
  "smollm3-dense",
  "stablelm-dense",
  "starcoder2-dense",
  "llama-moe",
  "qwen3moe-moe",
  "gpt-oss-moe",
];
/** Limit for f32 weights and cache, on any backend. */
const exactError = 1e-4;

const quantTypes = [
  "Q4_0",
  "Q4_1",
  "Q5_0",
  "Q5_1",
  "Q8_0",
  "Q2_K",
  "Q3_K_M",
  "Q4_K_M",
  "Q5_K_M",
  "Q6_K",
  "IQ3_S",
  "IQ3_M",
  "IQ4_NL",
  "IQ4_XS",
  "TQ1_0",
  "TQ2_0",
  "MXFP4_MOE",
  "BF16",
  "F16",
];

const arithmetics = ["ggml", "f32"] as const;

/** Families that also run on a software GPU: one for each kind of attention and norms. */
const softwareArchitectures = ["llama-dense", "qwen2-dense", "qwen3-dense", "phi3-dense", "gemma2-dense"];
/** The family of the sample on a software GPU: the one that differs most from the plainest, which the stories are. */
const sampledArchitecture = "gemma2-dense";

export function describeLogits({ runtime, isExact, scope, isSample }: SuiteContext): void {
  // Each model takes a software GPU tens of seconds, for kernels that conformance tests have compared in all types.
  const load = (path: string, options: Partial<LoadModelOptions> = {}): Promise<Model> =>
    loadModel(path, { runtime, ...exactCache, activations: "ggml", ...options });

  describeShared(`logits equal llama.cpp's${skipped}`, () => {
    const chosen = scope === "smoke" ? softwareArchitectures : architectures;
    const isIn = (name: string): boolean => scope !== "smoke" || !isSample || name === sampledArchitecture;
    test.skip.each(chosen.filter((name) => !isIn(name)))("f32 weights of %s (not in the sample)", () => undefined);
    test.each(chosen.filter(isIn))("f32 weights of %s, 12 and 200 ids, whole and in three parts", async (name) => {
      const path = shared(`data/archs/${name}.gguf`);
      const ids = readIds("data/archs/ids200.txt");
      const few = Array.from({ length: 12 }, (_, i) => i + 1);
      for (const batchSize of scope === "smoke" || isSample ? [256] : [256, 70]) {
        await using model = await load(path, { batchSize });
        expect(relativeError(await model.logits(few), readFloats(`data/archs/${name}.logits.f32`))).toBeLessThan(exactError);
        // A software GPU takes half a minute for 200 ids of a family.
        if (scope === "smoke" && (isSample || name !== softwareArchitectures[0])) continue;
        expect(relativeError(await model.logits(ids), readFloats(`data/archs/${name}.logits200.f32`))).toBeLessThan(exactError);
      }
    });

    const fables = [
      ["fable-tiny-f16", "ggml", f16Error],
      ["fable-tiny-q8_0", "ggml", roundedError(isExact)],
      ["fable-tiny-q8_0", "f32", activationError],
      ["fable-q4_k_m", "ggml", roundedError(isExact)],
      ["fable-q4_k_m", "f32", activationError],
    ] as const;
    const few = isSample ? 1 : 3;
    // The whole grid runs them.
    test.skip.each(fables.slice(few, scope === "smoke" ? 3 : few))("%s, activations %s (not in the sample)", () => undefined);
    test.each(fables.slice(0, scope === "smoke" ? few : fables.length))("%s, activations %s", async (name, activations, limit) => {
      await using model = await load(shared(`models/${name}.gguf`), { activations });
      const logits = await model.logits([0, 3025, 640, 263, 539, 446, 1206, 263, 668, 424, 344, 263]);
      expect(relativeError(logits, readFloats(`models/${name}.logits.f32`))).toBeLessThan(limit);
    });

    test.skipIf(scope === "smoke").each(["linear", "yarn", "llama3-factors"])("rope scaling: %s, 600 ids", async (name) => {
      await using model = await load(shared(`data/rope/${name}.gguf`));
      const all = await model.logits(readIds("data/rope/ids600.txt"));
      const { vocabSize } = model.info;
      const rows = Float32Array.from(
        { length: 10 * vocabSize },
        (_, i) => all[Math.floor(i / vocabSize) * 60 * vocabSize + (i % vocabSize)]!,
      );
      expect(relativeError(rows, readFloats(`data/rope/${name}.logits.f32`))).toBeLessThan(f16Error);
    });

    const step = isSample ? (scope === "smoke" ? 4 : 2) : 1;
    const pairs = quantTypes
      .filter((type) => scope !== "smoke" || /^Q(4_0|8_0|4_K_M|6_K)$/.test(type))
      .flatMap((type, i) => arithmetics.map((activations, j) => ({ type, activations, isIn: (i + j) % step === 0 })));
    test.skip.for(pairs.filter(({ isIn }) => !isIn))("$type, activations $activations (not in the sample)", () => undefined);
    test.for(pairs.filter(({ isIn }) => isIn))("$type, activations $activations", async ({ type, activations }, context) => {
      await using model = await loadOrSkip(context, () => load(shared(`data/quants/llama-dense-${type}.gguf`), { activations }));
      const logits = await model.logits(Array.from({ length: 12 }, (_, i) => i + 1));
      const plainError = { F16: f16Error, BF16: bf16Error }[type];
      const limit = activations === "ggml" ? roundedTypeError(isExact) : (plainError ?? activationError);
      const expected = readFloats(`data/quants/llama-dense-${type}.logits.f32`);
      expect(relativeError(logits, expected)).toBeLessThan(limit);
      if (activations === "f32") expect(cosine(logits, expected)).toBeGreaterThan(activationCosine);
    });

    // On the reference, this would compare the reference with itself.
    test.runIf(scope === "all").each(quantTypes)("%s in exact arithmetic is the reference's", async (type) => {
      const path = shared(`data/quants/llama-dense-${type}.gguf`);
      const ids = Array.from({ length: 12 }, (_, i) => i + 1);
      await using exactRuntime = await createRuntime({ backends: [reference()] });
      await using exact = await loadModel(path, { runtime: exactRuntime, ...exactCache, activations: "f32" });
      await using model = await load(path, { activations: "f32" });
      expect(relativeError(await model.logits(ids), await exact.logits(ids))).toBeLessThan(exactError);
    });
  });

  test.skipIf(scope === "smoke")("do not depend on how a prompt is split into batches", async () => {
    const ids = Array.from({ length: scope === "all" ? 140 : 40 }, (_, i) => (i * 37 + 5) % 4096);
    const outputs: Float32Array[] = [];
    for (const batchSize of [512, 33, 1]) {
      await using model = await load(tiny, { batchSize, activations: isExact ? "ggml" : "f32" });
      outputs.push(await model.logits(ids));
    }
    for (const other of outputs.slice(1)) {
      if (isExact) expect(other).toEqual(outputs[0]);
      else expect(relativeError(other, outputs[0]!)).toBeLessThan(1e-5);
    }
  });
}

/** A software GPU compiles kernels for many rows of quantised weights for tens of seconds. Conformance tests run them, type by type. */
const fewRows = { batchSize: 8 } as const;

export function describeGreedy({ runtime, scope, isSample }: SuiteContext): void {
  describeShared(`greedy decoding equals llama.cpp's${skipped}`, () => {
    const stories = greedyRuns("data/stories260K/greedy.jsonl").map((run) => ({ ...run, path: shared("data/stories260K", run.model) }));
    const fables = greedyRuns("models/greedy.jsonl").map((run) => ({ ...run, path: shared("models", run.model) }));
    const isPlain = ({ model }: Greedy): boolean => /260K\.gguf$|F16\.gguf$|f16\.gguf$/.test(model);
    const title = ({ model, prompt_ids }: Greedy): string => `${model}, ${prompt_ids.length} prompt ids`;

    const covers = ({ model }: Greedy): boolean =>
      scope === "all" || (scope === "small" ? !model.includes("q4_k_m") : /260K-(F16|Q8_0|Q4_K_M)\.gguf$/.test(model));

    // A gap this small is decided by llama.cpp's rounding of activations to f16.
    const clear = [...stories, ...fables].filter((run) => covers(run) && isPlain(run) && run.min_top1_top2_gap > 0.005);
    test.each(clear.map((run) => [title(run), run] as const))("token for token: %s", async (_title, run) => {
      await using model = await loadModel(run.path, { runtime, ...exactCache, activations: "ggml" });
      const maxTokens = scope === "smoke" ? 6 : run.out.length;
      const { ids } = await model.createSession().complete({ ids: run.prompt_ids }, { temperature: 0, maxTokens });
      expect(ids).toEqual(run.out.slice(0, maxTokens));
    });

    const quantised = [...stories, ...fables].filter((run) => covers(run) && !isPlain(run));
    const isIn = ({ model }: Greedy): boolean => scope !== "smoke" || !isSample || model.includes("Q4_K_M");
    test.skip.each(quantised.filter((run) => !isIn(run)).map(title))("98 of 100 choices agree: %s (not in the sample)", () => undefined);
    test.for(quantised.filter(isIn).map((run) => [title(run), run] as const))(
      "given its ids, 98 of 100 choices agree: %s",
      async ([, run], context) => {
        const options = { runtime, ...exactCache, activations: "ggml", ...(scope === "smoke" && fewRows) } as const;
        await using model = await loadOrSkip(context, () => loadModel(run.path, options));
        expect(await agreement(model, run, portableChoices(run))).toBeGreaterThanOrEqual(98);
      },
    );

    // Exact arithmetic against 8-bit activations: more of the close choices fall the other way. Not in samples, since it takes as long as the
    // agreement above and tests the same kernels of f32 activations as the logits.
    test.skipIf(isSample).for(quantised.map((run) => [title(run), run] as const))(
      "given its ids, exact arithmetic, 95 of 100 choices agree: %s",
      async ([, run], context) => {
        await using model = await loadOrSkip(context, () => loadModel(run.path, { runtime, ...exactCache, activations: "f32" }));
        expect(await agreement(model, run)).toBeGreaterThanOrEqual(95);
      },
    );
  });
}

/**
 * How many of llama.cpp's choices the model would have made at the same place. llama.cpp has as many arithmetics as builds: they add in
 * other orders, and where an activation is between two 8-bit values the last bit of a sum decides which. One such tie in the first token,
 * which all others look at, moves every logit after it by 1e-2 (Q4_1: its builds for AVX fall on one side; its portable one, our reference
 * and our WASM on the other, to 1e-7 in that token). So it is the build that agrees most, of the recorded one and the portable, whose
 * choices count.
 */
async function agreement(model: Model, { prompt_ids, out }: Greedy, portable: Readonly<Record<number, number>> = {}): Promise<number> {
  const logits = await model.logits([...prompt_ids, ...out.slice(0, -1)]);
  const choices = argmaxRows(logits, model.info.vocabSize).slice(prompt_ids.length - 1);
  const agreeing = (ids: readonly number[]): number => ids.filter((id, i) => id === choices[i]).length;
  return Math.max(agreeing(out), agreeing(out.map((id, i) => portable[i] ?? id)));
}

/** Skips where the backend does not have the arithmetic or the type, saying so. */
async function loadOrSkip({ skip }: TestContext, load: () => Promise<Model>): Promise<Model> {
  try {
    return await load();
  } catch (error) {
    if (error instanceof UnsupportedError) skip(error.message);
    throw error;
  }
}
