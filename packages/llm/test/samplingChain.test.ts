import { describe, expect, test } from "vitest";
import {
  candidatesOf,
  probabilities,
  resolveSampling,
  Sampler,
  SamplingError,
  type SamplingOptions,
  sampleCandidates,
  sampleToken,
} from "../src/index.ts";

/** Logits whose softmax is exactly these probabilities. */
const logitsOf = (...p: number[]): Float32Array => Float32Array.from(p, Math.log);
const _idsAfter = (
  step: (candidates: ReturnType<typeof candidatesOf>) => ReturnType<typeof candidatesOf>,
  logits: Float32Array,
): number[] => Array.from(step(candidatesOf(logits)).ids);

describe("the chain", () => {
  const off: SamplingOptions = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 3 };

  test("temperature 0 is the greatest logit, the lowest index of equals", () => {
    const options = resolveSampling({ temperature: 0 });
    expect(sampleToken(Float32Array.of(1, 5, 5, 2), options, { history: [] })).toBe(1);
    expect(sampleToken(Float32Array.of(-3, -1, Number.NEGATIVE_INFINITY), options, { history: [] })).toBe(1);
  });

  test("greedy sees penalties", () => {
    const options = resolveSampling({ temperature: 0, repeatPenalty: 2 });
    expect(sampleToken(Float32Array.of(1, 3, 2), options, { history: [1] })).toBe(2);
  });

  test("order: top-k before top-p before min-p before temperature", () => {
    // After top-k 3 the probabilities are 4/9, 3/9, 2/9, so top-p 0.7 keeps two; on all four it would keep three (0.4 + 0.3 < 0.75).
    const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
    const kept = sampleCandidates(logits, [], resolveSampling({ ...off, topK: 3, topP: 0.75, minP: 0.7, temperature: 10 }));
    expect(Array.from(kept.ids)).toEqual([3, 2]);
    // A temperature of 10 before min-p 0.9 would keep everything (0.1 / 0.4 to the power of 0.1 is 0.87, the others are above 0.9).
    expect(Array.from(sampleCandidates(logits, [], resolveSampling({ ...off, minP: 0.9, temperature: 10 })).ids)).toEqual([3]);
  });

  test("steps run in the chosen order, and only those listed", () => {
    const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
    const ids = (options: SamplingOptions): number[] =>
      Array.from(sampleCandidates(logits, [3], resolveSampling({ seed: 3, ...options })).ids);
    // Top-p 0.35 keeps the first alone; after a top-k of 1 there is nothing left to choose anyway.
    expect(ids({ steps: ["topK", "minP"], topK: 2, minP: 0.8 })).toEqual([3]);
    expect(ids({ steps: ["topP"], topP: 0.69 })).toEqual([3, 2]);
    expect(ids({ steps: [] })).toEqual([0, 1, 2, 3]);
    // A penalty after top-k cannot restore tokens that top-k excluded. Before top-k, it decides which tokens stay.
    expect(ids({ steps: ["topK", "penalties"], topK: 1, presencePenalty: 9 })).toEqual([3]);
    expect(ids({ steps: ["penalties", "topK"], topK: 1, presencePenalty: 9 })).toEqual([2]);
  });

  test("a step that changes the most likely token does so at temperature 0 as well", () => {
    const logits = logitsOf(0.4, 0.3, 0.2, 0.1);
    const best = (options: SamplingOptions): number =>
      sampleToken(logits, resolveSampling({ temperature: 0, seed: 1, ...options }), { history: [] });
    expect(best({})).toBe(0);
    expect(best({ xtcProbability: 1, xtcThreshold: 0.15 })).toBe(2);
    expect(sampleToken(logitsOf(0.4, 0.2, 0.2, 0.2), resolveSampling({ temperature: 0, typicalP: 0.5 }), { history: [] })).toBe(1);
  });

  test("biases come first: they exclude and prefer tokens", () => {
    const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
    const best = (logitBias: Record<number, number>): number =>
      sampleToken(logits, resolveSampling({ temperature: 0, logitBias }), { history: [] });
    expect(best({ 3: Number.NEGATIVE_INFINITY })).toBe(2);
    expect(best({ 0: 10 })).toBe(0);
    expect(() => best({ 4: 1 })).toThrow(/logitBias ids in 0 … 3, got 4/);
  });

  test("Mirostat keeps the surprise of a text near its target", () => {
    // A Zipf distribution.
    const logits = Float32Array.from({ length: 1000 }, (_, i) => -Math.log(i + 1));
    const chances = probabilities(candidatesOf(logits));
    for (const version of [1, 2] as const) {
      for (const mirostatTau of [2, 4]) {
        const sampler = new Sampler(resolveSampling({ mirostat: version, mirostatTau, temperature: 1, seed: 11 }));
        const ids = Array.from({ length: 2000 }, (_, position) => sampler.sample(logits, { history: [], position }));
        const kept = Math.max(...ids.slice(500)) + 1;
        const total = chances.slice(0, kept).reduce((sum, p) => sum + p, 0);
        const surprise = ids.slice(500).reduce((sum, id) => sum - Math.log2(chances[id]! / total), 0) / 1500;
        expect(Math.abs(surprise - mirostatTau)).toBeLessThan(0.5);
      }
    }
  });

  test("equal seeds and positions give equal tokens; another position draws again", () => {
    const logits = logitsOf(...Array.from({ length: 100 }, () => 0.01));
    const options = resolveSampling(off);
    const draw = (position: number): number => sampleToken(logits, options, { history: [], position });
    const run = Array.from({ length: 50 }, (_, i) => draw(i));
    expect(Array.from({ length: 50 }, (_, i) => draw(i))).toEqual(run);
    expect(draw(17)).toBe(run[17]);
    expect(new Set(run).size).toBeGreaterThan(25);
    expect(sampleToken(logits, options, { history: [1, 2, 3] })).toBe(draw(3));
  });

  test("draws follow the probabilities", () => {
    const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
    const counts = [0, 0, 0, 0];
    for (let position = 0; position < 10_000; position++) counts[sampleToken(logits, resolveSampling(off), { history: [], position })]!++;
    // Five standard deviations of a binomial count are at most 245.
    for (const [i, p] of [0.1, 0.2, 0.3, 0.4].entries()) expect(Math.abs(counts[i]! - p * 10_000)).toBeLessThan(245);
  });

  test.each<[string, SamplingOptions]>([
    ["alone", {}],
    ["at a low temperature", { temperature: 0.6 }],
    ["after cuts", { temperature: 1.4, topK: 9, topP: 0.9, minP: 0.05 }],
  ])("draws pass a chi-square test: %s", (_, options) => {
    const logits = Float32Array.from({ length: 12 }, (_, i) => 2 * Math.sin(7 * i));
    const { ids, logits: scaled } = sampleCandidates(logits, [], resolveSampling({ ...off, ...options }));
    const chances = probabilities({ ids, logits: scaled, sorted: false });
    const counts = new Map<number, number>();
    const draws = 20_000;
    for (let position = 0; position < draws; position++) {
      const id = sampleToken(logits, resolveSampling({ ...off, ...options, seed: 2 ** 33 + 5 }), { history: [], position });
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual([...ids].sort((a, b) => a - b));
    const statistic = ids.reduce((sum, id, i) => sum + (counts.get(id)! - draws * chances[i]!) ** 2 / (draws * chances[i]!), 0);
    // The 99.9 % quantile with 11 degrees of freedom, and so above that with fewer.
    expect(statistic).toBeLessThan(31.26);
  });

  test("excluded tokens are never chosen; no token, NaN and infinity are errors", () => {
    const options = resolveSampling(off);
    const masked = Float32Array.of(Number.NEGATIVE_INFINITY, 0, Number.NEGATIVE_INFINITY);
    for (let position = 0; position < 20; position++) expect(sampleToken(masked, options, { history: [], position })).toBe(1);
    for (const temperature of [0, 1]) {
      const sample = (...logits: number[]): number =>
        sampleToken(Float32Array.from(logits), resolveSampling({ ...off, temperature }), { history: [] });
      expect(() => sample(Number.NEGATIVE_INFINITY)).toThrow(/none of 1/);
      expect(() => sample()).toThrow(SamplingError);
      expect(() => sample(0, Number.NaN)).toThrow(/got NaN for token 1/);
      expect(() => sample(Number.POSITIVE_INFINITY, 0)).toThrow(/got Infinity for token 0/);
    }
  });
});
