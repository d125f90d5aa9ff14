import { describe, expect, test } from "vitest";
import { activationSumErrors, blockMinima, dequantize, QuantError, quantize, roundActivations } from "../src/index.ts";
import golden from "./fixtures/encoded.json" with { type: "json" };

const values = new Float32Array(Uint8Array.from(atob(golden.values), (c) => c.charCodeAt(0)).buffer);
const columns = atob(golden.imatrix).length / 4;

describe.each(["q4_1", "q5_1"] as const)("products with %s weights", (type) => {
  const row = values.subarray(0, columns);
  const activations = row.slice();
  roundActivations(type, row, activations);
  const errors = activationSumErrors(type, row)!;
  const magnitude = (weights: Float32Array): number => weights.reduce((sum, weight, i) => sum + Math.abs(weight * activations[i]!), 0);
  const product = (weights: Float32Array): number => weights.reduce((sum, weight, i) => sum + weight * activations[i]!, 0);

  test.each(golden.products[type].map((want, index) => [index, want] as const))("row %i: ggml's number", (index, want) => {
    const bytes = quantize(type, values.subarray(index * columns, (index + 1) * columns));
    const weights = new Float32Array(columns);
    dequantize(type, bytes, weights);
    const minima = blockMinima(type, bytes);
    const got = product(weights) + minima.reduce((sum, minimum, block) => sum + minimum * errors[block]!, 0);
    expect(Math.abs(got - want)).toBeLessThanOrEqual(2e-7 * magnitude(weights));
  });

  test("the stored sums make a difference", () => {
    const bytes = quantize(type, values.subarray(3 * columns, 4 * columns));
    const weights = new Float32Array(columns);
    dequantize(type, bytes, weights);
    expect(Math.abs(product(weights) - golden.products[type][3]!)).toBeGreaterThan(2e-6 * magnitude(weights));
  });
});

test("other types have no minima of their own", () => {
  for (const type of ["q4_0", "q8_0", "q4_K", "iq4_nl", "q8_1"] as const) expect(activationSumErrors(type, values)).toBeUndefined();
  expect(() => blockMinima("q4_0", new Uint8Array(18))).toThrow(QuantError);
  expect(() => blockMinima("q4_1", new Uint8Array(19))).toThrow(/whole blocks of 20 bytes, got 19/);
  expect(() => activationSumErrors("q4_1", values.subarray(0, 33))).toThrow(/multiple of 32/);
});
