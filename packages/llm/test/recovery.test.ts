import { wasm } from "@centella/backend-wasm";
import { type Backend, type BackendFactory, createRuntime, DeviceLostError, type Plan, type Runtime, type Tensor } from "@centella/core";
import { afterEach, describe, expect, test } from "vitest";
import { type GenerateOptions, loadModel, type Model } from "../src/index.ts";
import { familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";

/** An object with some of its members replaced. */
function overlay<T extends object>(target: T, members: Partial<Record<keyof T, unknown>>): T {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A backend on the CPU that can lose its memory, as a GPU does. */
class Losing {
  /** Counts down with each run; the device is lost in the run that makes it 0. */
  runsLeft = Number.POSITIVE_INFINITY;
  isGone = false;
  recoveries = 0;
  #isLost = false;
  readonly #plans = new Map<Plan, Plan>();

  readonly factory: BackendFactory = {
    name: "wasm",
    open: async () => this.#wrap(await wasm({ threads: 1 }).open()),
  };

  lose(): void {
    this.#isLost = true;
  }

  /** What a backend does that recovers: state is zeros again. */
  async recover(): Promise<{ readonly reset: readonly [] }> {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (this.isGone) throw new Error("the GPU is unplugged");
    if (!this.#isLost) return { reset: [] };
    for (const plan of this.#plans.values()) {
      for (const { name, init } of plan.program.persistents.values()) if (init === "zeros") plan.reset(name);
    }
    this.#isLost = false;
    this.recoveries++;
    return { reset: [] };
  }

  #wrap(backend: Backend): Backend {
    const compile: Backend["compile"] = async (program, options = {}) => {
      const { shareWith } = options;
      const shared = shareWith && this.#plans.get(shareWith);
      const plan = await backend.compile(program, { ...options, ...(shared && { shareWith: shared }) });
      const run = plan.run.bind(plan);
      const wrapped = overlay(plan, { run: (...call: Parameters<Plan["run"]>) => this.#run(() => run(...call)) });
      this.#plans.set(wrapped, plan);
      return wrapped;
    };
    const losing = overlay(backend, { compile, recover: () => this.recover() });
    return Object.defineProperty(
      new Proxy(losing, { get: (target, name) => (name === "recoveries" ? this.recoveries : Reflect.get(target, name)) }),
      "recoveries",
      { configurable: true, value: 0, writable: true },
    );
  }

  #run(run: () => Record<string, Tensor>): Record<string, Tensor> {
    this.#check();
    if (--this.runsLeft === 0) this.lose();
    const outputs = Object.entries(run());
    const { recoveries } = this;
    const data = async (tensor: Tensor) => {
      const array = await tensor.data();
      this.#check(recoveries);
      return array;
    };
    return Object.fromEntries(outputs.map(([name, tensor]) => [name, overlay(tensor, { data: () => data(tensor) })]));
  }

  /** @param recoveries number of them when the work began */
  #check(recoveries = this.recoveries): void {
    if (this.#isLost || recoveries !== this.recoveries) throw new DeviceLostError("losing", "a test");
  }
}

const prompt = [1, 5, 9, 7, 5, 9];
const greedy: GenerateOptions = { temperature: 0, seed: 1, maxTokens: 20, ignoreEos: true };

const open: (Runtime | Model)[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.dispose();
});

async function load(factory: BackendFactory, family: string, runsInFlight = 1): Promise<Model> {
  const runtime = await createRuntime({ backends: [factory], policy: { force: factory.name } });
  const sizes = { contextLength: 64, sequences: 3, batchSize: 8 };
  const model = await loadModel(familyModel(withVocabulary(readFamilyGolden(family))), { runtime, ...sizes, runsInFlight });
  open.push(runtime, model);
  return model;
}

const complete = async (model: Model, options: GenerateOptions = {}, ids: readonly number[] = prompt) =>
  (await model.createSession().complete({ ids }, { ...greedy, ...options })).ids;

describe.each([
  ["baichuan-7b", 1],
  ["baichuan-7b", 3],
  ["mamba2", 1],
  ["jamba", 1],
] as const)("%s with %s runs in flight goes on after a loss", (family, runsInFlight) => {
  test.each<readonly [string, GenerateOptions]>([
    ["tokens that the device chooses", {}],
    ["tokens that the host draws", { temperature: 0.9, repeatPenalty: 1.2 }],
    ["drafts", { promptLookup: 4 }],
    ["tokens under a mask", { format: { regex: "[^x]{90}" } }],
  ])("with the same %s", async (_, options) => {
    const losing = new Losing();
    const model = await load(losing.factory, family, runsInFlight);
    const expected = await complete(model, options);
    for (const [i, runs] of [1, 2, 4, 6].entries()) {
      losing.runsLeft = runs;
      expect(await complete(model, options), `lost in run ${runs}`).toEqual(expected);
      expect(losing.recoveries).toBe(i + 1);
    }
  });
});

test("all sessions that were generating go on", async () => {
  const losing = new Losing();
  const model = await load(losing.factory, "baichuan-7b", 3);
  const prompts = [0, 1, 2, 3, 4].map((i) => [...prompt, 10 + i]);
  const expected = [];
  for (const ids of prompts) expected.push(await complete(model, {}, ids));
  for (const runs of [1, 5, 11]) {
    losing.runsLeft = runs;
    expect(await Promise.all(prompts.map((ids) => complete(model, {}, ids)))).toEqual(expected);
  }
  expect(losing.recoveries).toBe(3);
});

test("embeddings of texts that share runs are the same after a loss, next to sessions", async () => {
  const losing = new Losing();
  const model = await load(losing.factory, "baichuan-7b");
  const texts = Array.from({ length: 9 }, (_, i) => ({ ids: [...prompt, ...prompt, ...prompt].slice(0, 4 + 2 * (i % 7)) }));
  const [vectors, expected] = [await model.embed(texts), await complete(model)];
  for (const runs of [1, 3, 6]) {
    losing.runsLeft = runs;
    const both = Promise.all([model.embed(texts), complete(model), complete(model), complete(model), model.embed(texts)]);
    expect(await both, `lost in run ${runs}`).toEqual([vectors, expected, expected, expected, vectors]);
  }
  expect(losing.recoveries).toBe(3);
});

test("what was computed before is not taken for cached, also if others recovered the device", async () => {
  const losing = new Losing();
  const model = await load(losing.factory, "baichuan-7b");
  const session = model.createSession();
  const text = (ids: readonly number[]) => session.complete({ ids }, greedy);
  const first = await text(prompt);
  const next = [...prompt, ...first.ids, 6];
  const expected = await complete(model, {}, next);
  losing.lose();
  await losing.recover();
  const saved = await session.save();
  expect(await text(next)).toMatchObject({ ids: expected, usage: { cachedTokens: 0 } });
  const restored = await model.restoreSession(saved);
  expect((await restored.complete({ ids: next }, greedy)).ids).toEqual(expected);
  losing.lose();
  const [logits, again] = [await model.logits(prompt), await model.logits(prompt)];
  expect(logits).toEqual(again);
});

test("a generation that loses the device again and again, or for good, ends with the loss", async () => {
  const losing = new Losing();
  const model = await load(losing.factory, "baichuan-7b");
  const expected = await complete(model);
  const { recover } = losing;
  losing.recover = async () => {
    const recovery = await recover.call(losing);
    losing.runsLeft = 1;
    return recovery;
  };
  losing.runsLeft = 3;
  await expect(complete(model)).rejects.toThrow(DeviceLostError);
  losing.recover = recover;
  losing.runsLeft = Number.POSITIVE_INFINITY;
  losing.isGone = true;
  losing.lose();
  await expect(complete(model)).rejects.toMatchObject({ name: "DeviceLostError", cause: { message: "the GPU is unplugged" } });
  losing.isGone = false;
  expect(await complete(model)).toEqual(expected);
});
