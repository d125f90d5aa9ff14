import { ArgumentError } from "@centella/core";
import { philox4x32, uniformAt } from "@centella/core/backend";
import { describe, expect, test } from "vitest";
import {
  candidatesOf,
  logprobsOf,
  probabilities,
  resolveSampling,
  SamplingError,
  type SamplingOptions,
  sampleCandidates,
} from "../src/index.ts";
import { pick } from "../src/sampling/candidates.ts";
import { dryPenalties } from "../src/sampling/dry.ts";
import { mirostat } from "../src/sampling/mirostat.ts";
import { applyPenalties, applyTemperature, dynamicTemperature, minP, topK, topNSigma, topP, typicalP, xtc } from "../src/sampling/steps.ts";

/** Logits whose softmax is exactly these probabilities. */
const logitsOf = (...p: number[]): Float32Array => Float32Array.from(p, Math.log);
/** The u32 at a share of all of them. */
const word = (share: number): number => Math.floor(share * 2 ** 32);
const idsAfter = (step: (candidates: ReturnType<typeof candidatesOf>) => ReturnType<typeof candidatesOf>, logits: Float32Array): number[] =>
  Array.from(step(candidatesOf(logits)).ids);

describe("options", () => {
  test("defaults are llama.cpp's", () => {
    expect(resolveSampling({ seed: 1 })).toEqual({
      temperature: 0.8,
      topK: 40,
      topP: 0.95,
      minP: 0.05,
      repeatPenalty: 1,
      repeatLastN: 64,
      frequencyPenalty: 0,
      presencePenalty: 0,
      dynamicTemperatureRange: 0,
      dynamicTemperatureExponent: 1,
      typicalP: 1,
      topNSigma: 0,
      xtcProbability: 0,
      xtcThreshold: 0.1,
      dryMultiplier: 0,
      dryBase: 1.75,
      dryAllowedLength: 2,
      dryLastN: -1,
      dryBreakers: [],
      mirostat: 0,
      mirostatTau: 5,
      mirostatEta: 0.1,
      logitBias: {},
      steps: ["penalties", "dry", "topNSigma", "topK", "typicalP", "topP", "minP", "xtc", "temperature"],
      seed: 1,
    });
  });

  test.each<[SamplingOptions, string]>([
    [{ topP: 1.5 }, "sampling.topP: expected a number in 0 … 1, got 1.5"],
    [{ topP: Number.NaN }, "sampling.topP: expected a number in 0 … 1, got NaN"],
    [{ temperature: -1 }, "sampling.temperature: expected a number >= 0, got -1"],
    [{ temperature: Number.POSITIVE_INFINITY }, "sampling.temperature: expected a number >= 0, got Infinity"],
    [{ topK: 2.5 }, "sampling.topK: expected a whole number >= 0, got 2.5"],
    [{ minP: -0.1 }, "sampling.minP: expected a number in 0 … 1, got -0.1"],
    [{ repeatPenalty: 0 }, "sampling.repeatPenalty: expected a number > 0, got 0"],
    [{ repeatLastN: -2 }, "sampling.repeatLastN: expected a whole number >= -1, got -2"],
    [{ typicalP: 2 }, "sampling.typicalP: expected a number in 0 … 1, got 2"],
    [{ dryBase: 0.5 }, "sampling.dryBase: expected a number >= 1, got 0.5"],
    [{ dryBreakers: [[]] }, "sampling.dryBreakers: expected lists of token ids, none of them empty, got [[]]"],
    [{ logitBias: { 3: Number.NaN } }, "sampling.logitBias: expected token ids with numbers or -Infinity, got"],
    [{ steps: ["topK", "topK"] }, "sampling.steps: expected some of penalties, dry"],
    [{ steps: ["topK"], topP: 0.5 }, 'sampling.steps: expected the step topP, because topP is set, got ["topK"]'],
    [{ mirostat: 2, topK: 5 }, "sampling.mirostat: expected no other option that excludes tokens, got topK"],
    [{ seed: -1 }, "sampling.seed: expected a whole number in 0 … 2^53 - 1, got -1"],
  ])("%o is rejected", (options, message) => {
    expect(() => resolveSampling(options)).toThrow(ArgumentError);
    expect(() => resolveSampling(options)).toThrow(message);
  });

  test("unknown options and values of other types are rejected", () => {
    const misspelt: object = { top_p: 0.5 };
    expect(() => resolveSampling(misspelt)).toThrow(/expected options among .*topP.*, got top_p/);
    const text: object = { topP: "0.5" };
    expect(() => resolveSampling(text)).toThrow('got "0.5"');
  });

  test("without a seed, runs differ", () => {
    expect(resolveSampling().seed).not.toBe(resolveSampling().seed);
  });
});

describe("philox", () => {
  // Known answers of Random123 (kat_vectors, philox4x32 10).
  test.each([
    [
      [0, 0, 0, 0],
      [0, 0],
      [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
    ],
    [
      [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      [0xffffffff, 0xffffffff],
      [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
    ],
    [
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      [0xa4093822, 0x299f31d0],
      [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
    ],
  ] as [[number, number, number, number], [number, number], number[]][])("%j %j", (counter, key, expected) => {
    expect(philox4x32(counter, key)).toEqual(expected);
  });

  test("uniform numbers are in [0, 1), evenly distributed, and differ by seed and position", () => {
    const values = Array.from({ length: 20_000 }, (_, position) => uniformAt(7, position));
    expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
    expect(new Set(values).size).toBe(values.length);
    // Ten bins of 2000 each: six standard deviations of a binomial count are 255.
    for (let bin = 0; bin < 10; bin++) {
      expect(Math.abs(values.filter((value) => Math.floor(value * 10) === bin).length - 2000)).toBeLessThan(255);
    }
    expect(uniformAt(8, 0)).not.toBe(uniformAt(7, 0));
    expect(uniformAt(2 ** 40 + 7, 0)).not.toBe(uniformAt(7, 0));
  });
});

describe("steps, by hand", () => {
  test("top-k keeps the greatest in order, the lower id of equals", () => {
    const logits = Float32Array.of(1, 3, 2, 3, -1);
    expect(idsAfter((c) => topK(c, 3), logits)).toEqual([1, 3, 2]);
    expect(idsAfter((c) => topK(c, 1), logits)).toEqual([1]);
    expect(idsAfter((c) => topK(c, 99), logits)).toEqual([1, 3, 2, 0, 4]);
    expect(idsAfter((c) => topK(c, 0), logits)).toEqual([0, 1, 2, 3, 4]);
    expect(idsAfter((c) => topK(topK(c, 4), 2), logits)).toEqual([1, 3]);
  });

  test("top-k equals a full sort", () => {
    const logits = Float32Array.from({ length: 5000 }, (_, i) => Math.round(uniformAt(1, i) * 300));
    const sorted = Array.from(logits.keys()).sort((a, b) => logits[b]! - logits[a]! || a - b);
    for (const k of [1, 2, 40, 1000, 5000]) expect(idsAfter((c) => topK(c, k), logits)).toEqual(sorted.slice(0, k));
  });

  // llama.cpp, tests/test-sampling.cpp: test_top_p on probabilities 0.1 0.2 0.3 0.4. Its sums in f32 hit 0.7 exactly, hence the margin below.
  test.each([
    [0, [3]],
    [0.7, [3, 2]],
    [0.8, [3, 2, 1]],
    [0.95, [3, 2, 1, 0]],
  ])("top-p %d", (p, expected) => {
    const logits = logitsOf(0.1, 0.2, 0.3, 0.4);
    expect(idsAfter((c) => topP(c, p - 1e-6), logits)).toEqual(expected);
    expect(idsAfter((c) => topP(topK(c, 4), p - 1e-6), logits)).toEqual(expected);
  });

  test("top-p 1 keeps everything", () => {
    expect(idsAfter((c) => topP(c, 1), logitsOf(0.1, 0.2, 0.3, 0.4))).toEqual([0, 1, 2, 3]);
  });

  // llama.cpp, tests/test-sampling.cpp: test_min_p on probabilities 0.1 0.2 0.3 0.4.
  test.each([
    [0, [0, 1, 2, 3]],
    [0.24, [0, 1, 2, 3]],
    [0.26, [1, 2, 3]],
    [0.49, [1, 2, 3]],
    [0.51, [2, 3]],
    [0.74, [2, 3]],
    [0.76, [3]],
    [1, [3]],
  ])("min-p %d", (p, expected) => {
    expect(idsAfter((c) => minP(c, p), logitsOf(0.1, 0.2, 0.3, 0.4))).toEqual(expected);
  });

  test("temperature: p^(1/t), normalised", () => {
    const halved = probabilities(applyTemperature(candidatesOf(logitsOf(0.1, 0.2, 0.3, 0.4)), 0.5));
    // Squares 1, 4, 9, 16 of 30.
    for (const [i, square] of [1, 4, 9, 16].entries()) expect(halved[i]).toBeCloseTo(square / 30, 6);
    expect(probabilities(applyTemperature(candidatesOf(Float32Array.of(1, 2)), 1e-42))).toEqual(Float64Array.of(0, 1));
  });

  test("penalties: divided or multiplied by sign, then frequency and presence", () => {
    const logits = Float32Array.of(2, -2, 0, 4);
    const options = { repeatPenalty: 2, repeatLastN: 64, frequencyPenalty: 0.25, presencePenalty: 0.5 };
    expect(applyPenalties(logits, [0, 1, 1, 2], options)).toEqual(Float32Array.of(1 - 0.75, -4 - 1, 0 - 0.75, 4));
    expect(logits).toEqual(Float32Array.of(2, -2, 0, 4));
  });

  // llama.cpp, tests/test-sampling.cpp: test_penalties on five tokens of probability 0.2.
  test.each([
    [[0], { repeatPenalty: 50 }, [0, 0.25, 0.25, 0.25, 0.25]],
    [[0, 1, 2], { repeatPenalty: 50 }, [0, 0, 0, 0.5, 0.5]],
    [[0], { frequencyPenalty: 5, presencePenalty: 5 }, [0.000011, 0.249997, 0.249997, 0.249997, 0.249997]],
    [[0, 1, 2], { frequencyPenalty: 5, presencePenalty: 5 }, [0.000023, 0.000023, 0.000023, 0.499966, 0.499966]],
    [[0, 1, 2, 0, 0], { frequencyPenalty: 5, presencePenalty: 5 }, [0, 0.000023, 0.000023, 0.499977, 0.499977]],
  ])("penalties for %j with %j", (history, options, expected) => {
    const out = applyPenalties(logitsOf(0.2, 0.2, 0.2, 0.2, 0.2), history, resolveSampling(options));
    const got = probabilities(candidatesOf(out));
    for (const [i, p] of expected.entries()) expect(got[i]).toBeCloseTo(p, 5);
  });

  test("penalties look at the last n ids only", () => {
    const logits = Float32Array.of(2, 2, 2);
    const options = { repeatPenalty: 2, repeatLastN: 1, frequencyPenalty: 0, presencePenalty: 0 };
    expect(applyPenalties(logits, [0, 1], options)).toEqual(Float32Array.of(2, 1, 2));
    expect(applyPenalties(logits, [0, 1], { ...options, repeatLastN: -1 })).toEqual(Float32Array.of(1, 1, 2));
    expect(applyPenalties(logits, [0, 1], { ...options, repeatLastN: 0 })).toBe(logits);
    expect(() => applyPenalties(logits, [3], options)).toThrow(SamplingError);
  });

  // llama.cpp, tests/test-sampling.cpp: test_typical.
  test.each([
    [[0.97, 0.01, 0.01, 0.01], [0]],
    [
      [0.4, 0.2, 0.2, 0.2],
      [1, 2, 3],
    ],
  ])("typical 0.5 of %j", (p, expected) => {
    expect(idsAfter((c) => typicalP(c, 0.5), logitsOf(...p))).toEqual(expected);
    expect(idsAfter((c) => typicalP(c, 1), logitsOf(...p))).toEqual([0, 1, 2, 3]);
  });

  // llama.cpp, tests/test-sampling.cpp: test_top_n_sigma.
  test.each([
    [1, [0, 0, 0.428571, 0.571429]],
    [0, [0.1, 0.2, 0.3, 0.4]],
    [3, [0.1, 0.2, 0.3, 0.4]],
  ])("top-n-sigma %d", (n, expected) => {
    const kept = topNSigma(candidatesOf(logitsOf(0.1, 0.2, 0.3, 0.4)), n);
    const chances = probabilities(kept);
    for (const [id, p] of expected.entries()) expect(chances[kept.ids.indexOf(id)] ?? 0).toBeCloseTo(p, 5);
  });

  // llama.cpp, tests/test-sampling.cpp: test_xtc; its random number is below the probability of 0.99.
  test.each([
    [0.09, [3]],
    [0.19, [2, 3]],
    [0.29, [1, 2, 3]],
    [0.39, [0, 1, 2, 3]],
  ])("XTC from %d", (threshold, expected) => {
    const logits = logitsOf(0.4, 0.3, 0.2, 0.1);
    expect(idsAfter((c) => xtc(c, 0.99, threshold, 0.98), logits)).toEqual(expected);
    expect(idsAfter((c) => xtc(c, 0.99, threshold, 0.995), logits)).toEqual([0, 1, 2, 3]);
  });

  test("dynamic temperature: lowest for a certain choice, highest for a uniform one, by entropy in between", () => {
    expect(dynamicTemperature(candidatesOf(logitsOf(0.25, 0.25, 0.25, 0.25)), 1, 0.5, 1)).toBeCloseTo(1.5, 6);
    expect(dynamicTemperature(candidatesOf(Float32Array.of(100, 0)), 1, 0.5, 1)).toBeCloseTo(0.5, 6);
    // Entropy of 0.1 0.2 0.3 0.4: 1.279854 of ln 4 = 1.386294, a share of 0.923220.
    const uneven = candidatesOf(logitsOf(0.1, 0.2, 0.3, 0.4));
    expect(dynamicTemperature(uneven, 1, 0.5, 1)).toBeCloseTo(1.42322, 5);
    expect(dynamicTemperature(uneven, 1, 0.5, 2)).toBeCloseTo(0.5 + 0.92322 ** 2, 5);
    expect(dynamicTemperature(uneven, 0.2, 0.5, 1)).toBeCloseTo(0.7 * 0.92322, 5);
    expect(dynamicTemperature(uneven, 0.7, 0, 1)).toBe(0.7);
  });

  // llama.cpp, tests/test-sampling.cpp: test_dry.
  test.each([
    [4, [0, 1], 1, 2, 4, [], [0.25, 0.25, 0.25, 0.25]],
    [4, [0, 1, 2, 0, 1], 1, 2, 5, [], [0.296923, 0.296923, 0.109232, 0.296923]],
    [5, [0, 1, 3, 4, 0, 1], 1, 2, 6, [[3]], [0.2, 0.2, 0.2, 0.2, 0.2]],
    [5, [0, 1, 2, 0, 1], 2, 2, 5, [], [0.241818, 0.241818, 0.032727, 0.241818, 0.241818]],
    [5, [0, 1, 2, 3, 4, 0, 1], 1, 4, 7, [], [0.2, 0.2, 0.2, 0.2, 0.2]],
  ])("DRY of %d tokens after %j", (size, history, dryMultiplier, dryAllowedLength, dryLastN, dryBreakers, expected) => {
    const even = logitsOf(...Array.from({ length: size }, () => 1 / size));
    const options = resolveSampling({
      dryMultiplier,
      dryBase: 1.1,
      dryAllowedLength,
      dryLastN,
      dryBreakers,
      temperature: 1,
      topK: 0,
      topP: 1,
      minP: 0,
    });
    const chances = probabilities(sampleCandidates(even, history, options));
    for (const [id, p] of expected.entries()) expect(chances[id]).toBeCloseTo(p, 5);
  });

  test("DRY: the longest repetition counts, and none extends across a breaker", () => {
    const dry = (history: number[], dryBreakers: number[][] = []) =>
      Object.fromEntries(dryPenalties(history, resolveSampling({ dryMultiplier: 1, dryBase: 2, dryAllowedLength: 1, dryBreakers })));
    // "a b c c b c y a b c" has "a b c" then c, "b c" then y and "c" then b: exponents 2, 1 and 0.
    const text = [0, 1, 2, 2, 1, 2, 3, 0, 1, 2];
    expect(dry(text)).toEqual({ 2: 4, 3: 2, 1: 1 });
    expect(dry(text, [[1]])).toEqual({ 2: 1, 3: 1 });
    expect(dry(text, [[0, 1]])).toEqual({ 2: 1, 3: 1, 1: 1 });
    expect(dry(text, [[0, 3]])).toEqual({ 2: 4, 3: 2, 1: 1 });
    expect(dry([])).toEqual({});
  });

  test("DRY's linear search equals the obvious one", () => {
    const history = Array.from({ length: 300 }, (_, i) => Math.floor(uniformAt(5, i) * 3));
    const expected: Record<number, number> = {};
    for (let end = 1; end < history.length; end++) {
      let length = 0;
      while (length < end && history[end - 1 - length] === history[history.length - 1 - length]) length++;
      if (length >= 2) expected[history[end]!] = Math.max(expected[history[end]!] ?? 0, 1.75 ** (length - 2));
    }
    expect(Object.fromEntries(dryPenalties(history, resolveSampling({ dryMultiplier: 1 })))).toEqual(expected);
  });

  test("Mirostat 2: keeps tokens with a surprise of at most mu bits, which adapts to the target", () => {
    // Surprises in bits: 1.32, 1.74, 2.32, 3.32.
    const candidates = candidatesOf(logitsOf(0.4, 0.3, 0.2, 0.1));
    const target = { version: 2, tau: 0.8, eta: 0.1 } as const;
    const first = mirostat(candidates, target, 1.6, word(0.999), 4);
    expect(first.id).toBe(0);
    expect(first.mu).toBeCloseTo(1.6 + 0.1 * 0.8, 9);
    const second = mirostat(candidates, target, 2, word(0.999), 4);
    expect(second.id).toBe(1);
    expect(second.mu).toBeCloseTo(2 - 0.1 * (-Math.log2(3 / 7) - 0.8), 6);
    expect(mirostat(candidates, target, 0.1, word(0.999), 4).id).toBe(0);
  });

  test("Mirostat 1: keeps the number of tokens that Zipf's law allows, fitted by llama.cpp's formula", () => {
    // Least squares of ln(p_i / p_i+1) over ln((i + 2) / (i + 1)) gives s = 0.7741, and mu = 2 then k = 3 of 4 tokens.
    const candidates = candidatesOf(logitsOf(0.4, 0.3, 0.2, 0.1));
    const { id, mu } = mirostat(candidates, { version: 1, tau: 1, eta: 0.1 }, 2, word(0.999), 4);
    expect(id).toBe(2);
    expect(mu).toBeCloseTo(1.883007, 5);
    expect(mirostat(candidatesOf(Float32Array.of(1, 1, 1)), { version: 1, tau: 1, eta: 0.1 }, 2, word(0.999), 3).id).toBe(2);
  });

  test("log probabilities of the model, the most likely first", () => {
    const { id, logprob, top } = logprobsOf(logitsOf(0.1, 0.2, 0.3, 0.4), 1, 2);
    expect([id, top.map((other) => other.id)]).toEqual([1, [3, 2]]);
    expect(logprob).toBeCloseTo(Math.log(0.2), 6);
    expect(top[0]!.logprob).toBeCloseTo(Math.log(0.4), 6);
    expect(logprobsOf(Float32Array.of(1, 2), 0, 0).top).toEqual([]);
  });

  test("pick samples by the running sum of probabilities", () => {
    const candidates = candidatesOf(logitsOf(0.1, 0.2, 0.3, 0.4));
    expect([0, 0.09, 0.11, 0.29, 0.31, 0.59, 0.61, 0.999999999].map((u) => pick(candidates, word(u)))).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  });
});
