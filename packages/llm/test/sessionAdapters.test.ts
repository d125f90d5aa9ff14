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

describe("runs compute no adapters but those that they use", () => {
  const withScales = (...scales: readonly number[]) => ({
    tokens: new Int32Array(2),
    ...Object.fromEntries(scales.map((scale, i) => [`adapterScales.${i}`, Float32Array.of(0, scale)])),
  });

  test("once the program for them is compiled", async () => {
    const log: string[] = [];
    const plan = (name: string) =>
      ({ run: (inputs: object) => void log.push(`${name}: ${Object.keys(inputs)}`), dispose: () => void log.push(`-${name}`) }) as never;
    const compiled: Promise<unknown>[] = [];
    const compile = async ({ name }: { name: string }) => plan(name);
    const runtime = { compile: (...args: Parameters<typeof compile>) => compiled[compiled.push(compile(...args)) - 1] } as never;
    const adapters = { names: ["a", "b", "c"], at: (places: readonly number[]) => places } as never;
    const record = (places: unknown) => ({ program: { name: `[${places}]` } }) as never;
    const chosen = await adaptedPlan({ runtime, adapters, adapted: plan("all"), record });
    const all = "tokens,adapterScales.0,adapterScales.1,adapterScales.2";
    for (const scales of [
      [0, 0, 0],
      [0, 0.5, 0],
      [1, 2, 3],
    ])
      chosen.run(withScales(...scales), {});
    expect(log).toEqual(["[]: tokens", `all: ${all}`, `all: ${all}`]);
    const lastRun = (): string | undefined => {
      chosen.run(withScales(0, 0.5, 0), {});
      return log.at(-1);
    };
    await expect.poll(lastRun).toBe("[1]: tokens,adapterScales.1");
    // Never compiled twice.
    expect(compiled).toHaveLength(2);
    log.length = 0;
    chosen.run(withScales(1, 0, 1), {});
    chosen.dispose();
    expect(log).toEqual([`all: ${all}`, "-[1]", "-[]", "-all"]);
    // Its owner is gone when it is compiled.
    await expect.poll(() => log.at(-1)).toBe("-[0,2]");
  });

  test("with the same results to the bit", async () => {
    // The first results are of runs with both adapters, unless the program is ready at once.
    const logits = (of: Model, adapters: AdapterScales) => of.logits(ids.slice(0, 9), { adapters });
    const expected = await logits(always, {});
    for (let i = 0; i < 3; i++) {
      expect(await logits(model, sea)).toEqual(expected);
      expect(await logits(model, { hill: -4 })).toEqual(expected);
      expect(await logits(model, {})).toEqual(await logits(plain, {}));
    }
  });
});
