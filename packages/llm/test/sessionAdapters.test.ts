import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AdapterOptions, type AdapterScales, type GenerateOptions, loadModel, type Model } from "../src/index.ts";
import { adaptedPlan } from "../src/load/adaptedPlan.ts";
import { tiny } from "./modelFiles.ts";
import { strongAdapter } from "./strongAdapter.ts";

const ids = [0, ...Array.from({ length: 70 }, (_, i) => 300 + ((i * 37) % 900))];
const greedy: GenerateOptions = { temperature: 0, maxTokens: 12 };
const source = await strongAdapter(tiny);
const sea = { sea: 1 };

let runtime: Runtime;
/** With two adapters that sessions choose. */
let model: Model;
/** With one that is always applied. */
let always: Model;
let plain: Model;
beforeAll(async () => {
  runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
  const load = (adapters?: readonly AdapterOptions[], options: object = {}) =>
    loadModel(tiny, { runtime, contextLength: 256, sequences: 4, adapters, ...options });
  const named = [
    { name: "sea", source },
    { name: "hill", source, scale: -0.25 },
  ];
  model = await load(named, { runsInFlight: 3, draft: { source: tiny } });
  always = await load([{ source }]);
  plain = await load();
});
afterAll(async () => {
  for (const each of [model, always, plain]) await each.dispose();
  await runtime.dispose();
});

const textOf = async (of: Model, adapters?: AdapterScales, options: GenerateOptions = {}): Promise<string> =>
  (await of.createSession({ adapters }).complete({ ids }, { ...greedy, ...options })).text;

describe("adapters of sessions", () => {
  test("change their texts alone, in runs that sessions with different adapters share", async () => {
    expect(model.info.adapters).toEqual(["sea", "hill"]);
    const [none, own] = [await textOf(plain), await textOf(always)];
    expect(own).not.toBe(none);
    for (const options of [{ draftTokens: 0 }, { draftTokens: 2 }, { draftTokens: 0, format: { regex: "[a-z ]{9}" } }] as const) {
      const all = [undefined, sea, {}, { hill: -4 }, { sea: 0, hill: 0 }].map((adapters) => textOf(model, adapters, options));
      const [base, tuned] = [
        await textOf(plain, undefined, { ...options, draftTokens: 0 }),
        await textOf(always, undefined, { ...options, draftTokens: 0 }),
      ];
      expect(await Promise.all(all)).toEqual([base, tuned, base, tuned, base]);
    }
  });

  test("keep sessions from each other's computed tokens", async () => {
    const cached = async (adapters: AdapterScales): Promise<number> =>
      (await model.createSession({ adapters }).complete({ ids: ids.map((id) => id + 1) }, greedy)).usage.cachedTokens;
    for (const adapters of [{}, sea, { sea: 2 }]) {
      expect(await cached(adapters)).toBe(0);
      expect(await cached(adapters)).toBeGreaterThan(60);
    }
  });

  test("are those of forks and restored sessions", async () => {
    const session = model.createSession({ adapters: sea });
    await session.complete({ ids }, greedy);
    const expected = await textOf(always);
    expect((await session.fork().complete({ ids }, greedy)).text).toBe(expected);
    const bytes = await session.save();
    const restored = await (await model.restoreSession(bytes)).complete({ ids }, greedy);
    expect(restored).toMatchObject({ text: expected, usage: { cachedTokens: ids.length - 1 } });
    await expect(plain.restoreSession(bytes)).rejects.toMatchObject({
      reason: "otherModel",
      message: "restoreSession: expected no adapters, because the model has none, got sea; load the model with it, under this name",
    });
    // A session without adapters belongs to the model alone.
    const base = model.createSession({ adapters: { hill: 0 } });
    await base.complete({ ids }, greedy);
    expect((await (await plain.restoreSession(await base.save())).complete({ ids }, greedy)).usage.cachedTokens).toBe(ids.length - 1);
  });

  test("are chosen by embeddings, logits and perplexity", async () => {
    const text = ids.slice(0, 9);
    expect(await model.embed([{ ids: text }], { adapters: sea })).toEqual(await always.embed([{ ids: text }]));
    expect(await model.embed([{ ids: text }])).toEqual(await plain.embed([{ ids: text }]));
    expect(await model.logits(text, { adapters: sea })).toEqual(await always.logits(text));
    const options = { contextLength: 32 };
    expect(await model.perplexity(ids, { ...options, adapters: sea })).toEqual(await always.perplexity(ids, options));
  });

  test("are refused by unknown names, and with scales that are not finite", async () => {
    expect(() => model.createSession({ adapters: { moon: 1 } })).toThrow(
      "createSession: expected adapters among sea, hill, got moon; load the model with it, under this name",
    );
    expect(() => model.createSession({ adapters: { sea: Number.NaN } })).toThrow("createSession.adapters.sea: expected a finite number");
    await expect(plain.embed(["a"], { adapters: sea })).rejects.toThrow("embed: expected no adapters, because the model has none, got sea");
    const twice = [
      { name: "a", source },
      { name: "a", source },
    ];
    await expect(loadModel(tiny, { runtime, adapters: twice })).rejects.toThrow(
      "expected a different name for each adapter, got two of the name a",
    );
    await expect(loadModel(tiny, { runtime, adapters: [{ name: "", source }] })).rejects.toThrow("adapters: expected name to be a string");
  });
});

test("runs without adapters do not compute them", async () => {
  const runs: string[] = [];
  const plan = (name: string) =>
    ({ run: (inputs: object) => void runs.push(`${name} ${Object.keys(inputs)}`), dispose: () => void runs.push(name) }) as never;
  const adapters = { names: ["a", "b"], always: {} } as never;
  const compile = async () => plan("plain");
  const chosen = await adaptedPlan({ runtime: { compile } as never, adapters, adapted: plan("adapted"), record: () => ({}) as never });
  const inputs = (scale: number) => ({
    tokens: new Int32Array(2),
    "adapterScales.0": new Float32Array(2),
    "adapterScales.1": Float32Array.of(0, scale),
  });
  chosen.run(inputs(0), {});
  chosen.run(inputs(0.5), {});
  chosen.dispose();
  expect(runs).toEqual(["plain tokens", "adapted tokens,adapterScales.0,adapterScales.1", "plain", "adapted"]);
});
