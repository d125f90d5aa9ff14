import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BenchOptions, type BenchRow, benchModel, llamaBenchTable } from "../src/bench/index.ts";
import { loadModel, type Model } from "../src/index.ts";
import { tiny } from "./modelFiles.ts";

describe("benchModel", () => {
  let runtime: Runtime;
  let model: Model;
  beforeAll(async () => {
    runtime = await createRuntime({ backends: [wasm()] });
    model = await loadModel(tiny, { runtime, contextLength: 128 });
  });
  afterAll(() => runtime.dispose());

  async function rowsOf(options: BenchOptions): Promise<readonly BenchRow[]> {
    const rows: BenchRow[] = [];
    for await (const row of benchModel(model, options)) rows.push(row);
    return rows;
  }

  test("runs every test at every depth, prompts first, the requested number of times", async () => {
    const rows = await rowsOf({ promptTokens: [16, 40], generatedTokens: [4], depths: [0, 32], repetitions: 2 });
    expect(rows.map(({ test }) => test)).toEqual(["pp16", "pp40", "tg4", "pp16 @ d32", "pp40 @ d32", "tg4 @ d32"]);
    for (const { tokensPerSecond, timeToFirstTokenMs } of rows) {
      expect(tokensPerSecond).toHaveLength(2);
      expect(timeToFirstTokenMs).toHaveLength(2);
      expect(Math.min(...tokensPerSecond, ...timeToFirstTokenMs)).toBeGreaterThan(0);
    }
  });

  test("generates the number of tokens in the test's name, even if the model would end earlier", async () => {
    const ids: number[] = [];
    const spied = new Proxy(model, {
      get: (target, key) => {
        if (key !== "createSession") return Reflect.get(target, key, target);
        return () => {
          const session = target.createSession();
          const complete = session.complete.bind(session);
          session.complete = async (...args) => {
            const finish = await complete(...args);
            ids.push(finish.usage.completionTokens);
            return finish;
          };
          return session;
        };
      },
    });
    for await (const _row of benchModel(spied, { promptTokens: [], generatedTokens: [60], repetitions: 3 }));
    // The one that does not count, and three; a first token that is not timed, and 60.
    expect(ids).toEqual([61, 61, 61, 61]);
  });

  test.each([
    [{ depths: [100], generatedTokens: [32] }, /tests that fit the context of 128 tokens, got one of \d+; load the model with a longer/],
    [{ promptTokens: [0] }, /promptTokens to be a list of numbers of tokens from 1, got \[0\]/],
    [{ repetitions: 0 }, /repetitions to be a whole number from 1, got 0/],
    [{ prompts: [1] }, /options among \{promptTokens, .*\}, got prompts/],
  ])("%j is refused", async (options, message) => {
    await expect(rowsOf(options as BenchOptions)).rejects.toThrow(message);
  });

  test("stops at an abort, and the model stays usable", async () => {
    const abort = new AbortController();
    const rows = rowsOf({ promptTokens: [64], generatedTokens: [], repetitions: 1000, signal: abort.signal });
    setTimeout(() => abort.abort(new Error("enough")), 50);
    await expect(rows).rejects.toThrow("enough");
    expect(await rowsOf({ promptTokens: [8], generatedTokens: [], repetitions: 1 })).toHaveLength(1);
  });

  test("the table has llama-bench's columns: mean ± sample standard deviation", () => {
    const row = { test: "pp16", kind: "prompt", tokens: 16, depth: 0, tokensPerSecond: [90, 100, 110], timeToFirstTokenMs: [1] } as const;
    const info = { ...model.info, name: "Fable", quantization: "Q8_0", parameters: 1_235_814_432, threads: 2 };
    const memory = { ...info.memory, weights: 799_862_912 };
    expect(llamaBenchTable({ ...info, memory }, [row])).toBe(
      [
        "| model      |       size | params | backend | threads | test |            t/s |",
        "| ---------- | ---------: | -----: | ------- | ------: | ---: | -------------: |",
        "| Fable Q8_0 | 762.81 MiB | 1.24 B | wasm    |       2 | pp16 | 100.00 ± 10.00 |",
      ].join("\n"),
    );
  });
});
