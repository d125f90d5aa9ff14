import { createRuntime } from "@centella/core";
import { expect, test } from "vitest";
import { seedWords } from "../src/sampling/deviceSampling.ts";
import { resolveSampling } from "../src/sampling/options.ts";
import { sampleToken } from "../src/sampling/sampleToken.ts";

// A device may choose the token (core's op) or the host (the chain of steps): the same options must give the same text.
test.each([
  ["plain", { temperature: 1, topK: 0, topP: 1, minP: 0 }],
  ["greedy", { temperature: 0, topK: 0, topP: 1, minP: 0 }],
  ["defaults", { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 }],
  ["top-p alone", { temperature: 1.3, topK: 0, topP: 0.6, minP: 0 }],
  ["a tiny temperature", { temperature: 1e-6, topK: 5, topP: 0.99, minP: 0 }],
  ["min-p alone", { temperature: 0.7, topK: 0, topP: 1, minP: 0.02 }],
])("core's sample chooses what the chain chooses: %s", async (_name, options) => {
  await using runtime = await createRuntime({ backends: [] });
  const [rows, n, seed] = [200, 300, 2 ** 40 + 3];
  const values = runtime.tensor(Float32Array.from({ length: rows * n }, (_, i) => 4 * Math.sin(i * i) + 3 * Math.cos(i)));
  const logits = (await values.data()) as Float32Array;
  const position = Int32Array.from({ length: rows }, (_, row) => 11 * row);
  const integers = (value: number) => runtime.tensor(new Int32Array(rows).fill(value));
  const numbers = (value: number) => runtime.tensor(new Float32Array(rows).fill(value));
  const { temperature, topK, topP, minP } = options;
  const chosen = await runtime.sample(
    runtime.tensor(logits, [rows, n]),
    runtime.tensor(position),
    runtime.tensor(
      new Int32Array(2 * rows).map((_, i) => seedWords(seed)[i % 2]!),
      [rows, 2],
    ),
    numbers(temperature),
    integers(topK),
    numbers(topP),
    numbers(minP),
  );
  const resolved = resolveSampling({ ...options, seed });
  const want = Array.from(position, (at, row) =>
    sampleToken(logits.subarray(row * n, (row + 1) * n), resolved, { history: [], position: at }),
  );
  expect([...(await chosen.data())]).toEqual(want);
  expect(new Set(want).size).toBeGreaterThan(20);
});
