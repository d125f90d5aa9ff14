import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blockTokens } from "../src/cache/prefixCache.ts";
import { type Copiers, SequencePool } from "../src/cache/sequencePool.ts";
import { loadModel, type Model } from "../src/index.ts";
import { FakeSlotCopier } from "./fakeSlotCopier.ts";
import { familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);

describe("sequences with recurrent states", () => {
  const [owner, other] = [{}, {}];
  const copier = (hasCache: boolean): Copiers & { readonly copiedStates: number[][]; readonly copiedSlots: number[][] } => {
    const copiedStates: number[][] = [];
    const slots = hasCache ? new FakeSlotCopier() : undefined;
    return { copiedStates, copiedSlots: slots?.copied ?? [], slots, states: { copyState: (from, to) => copiedStates.push([from, to]) } };
  };
  const newPool = (sequences: number, blocks: number, copiers: Copiers): SequencePool =>
    new SequencePool({ sequences, blocks, maxWaiting: 1 }, copiers);
  const use = async (from: SequencePool, ids: readonly number[], by: object = owner): Promise<number> => {
    const sequence = await from.acquire(by, ids);
    const cached = sequence.ids.length;
    sequence.reserve(ids.length - cached);
    sequence.append(ids.slice(cached));
    from.release(sequence);
    return cached;
  };

  test("continue from the last saved state, which stays cached", async () => {
    const copies = copier(false);
    const pool = newPool(1, 4, copies);
    const ids = numbers(blockTokens + 5);
    expect(await use(pool, ids)).toBe(0);
    expect(await use(pool, [...ids, 7, 8])).toBe(ids.length);
    // A copy went on, so the place before is still there, for everybody.
    expect(await use(pool, [...ids, 9], other)).toBe(ids.length);
    expect(await use(pool, [...ids, 7, 8, 9])).toBe(ids.length + 2);
    for (const [from, to] of copies.copiedStates) expect(from).not.toBe(to);
    // No state was saved within it.
    expect(await use(pool, [...ids.slice(0, 9), 99])).toBe(0);
  });

  test("the least recently used state is evicted, but never a busy one", async () => {
    const pool = newPool(1, 64, copier(false));
    const texts = numbers(6).map((i) => numbers(10, 100 * i));
    for (const text of texts) await use(pool, text);
    const found: number[] = [];
    for (const text of texts) found.push(await use(pool, [...text, 1]));
    expect(found).toContain(0);
    const held = await pool.acquire(owner, [...texts.at(-1)!, 1]);
    expect(held.ids.length).toBeGreaterThan(0);
  });

  test("if layers have a cache, a block that another sequence has begun is copied", async () => {
    const copies = copier(true);
    const pool = newPool(2, 4, copies);
    const ids = numbers(blockTokens + 5);
    await use(pool, ids);
    const one = await pool.acquire(owner, ids);
    const fork = await pool.acquire(other, ids);
    expect(fork.ids).toEqual(ids);
    const [from, to] = copies.copiedSlots as [number[], number[]];
    expect([...one.slots(blockTokens, 5)]).toEqual(from);
    expect([...fork.slots(blockTokens, 5)]).toEqual(to);
    expect([...one.slots(0, blockTokens)]).toEqual([...fork.slots(0, blockTokens)]);
    expect(one.stateRow).not.toBe(fork.stateRow);
  });

  test("a scoped state can be continued only within its scope", async () => {
    for (const hasCache of [false, true]) {
      const pool = newPool(2, 8, copier(hasCache));
      const scope = {};
      const ids = numbers(blockTokens + 5);
      const restored = await pool.acquire(owner, ids, { scope });
      restored.distrust();
      restored.reserve(ids.length);
      restored.append(ids);
      pool.release(restored);
      const longer = [...ids, 7];
      const lengthFor = async (by: object, of?: object): Promise<number> => {
        const sequence = await pool.acquire(by, longer, { scope: of });
        const { length } = sequence.ids;
        sequence.reserve(1);
        sequence.append(longer.slice(length, length + 1));
        pool.release(sequence);
        return length;
      };
      expect(await lengthFor(other)).toBe(0);
      expect(await lengthFor(other, scope)).toBe(ids.length);
      // What went on from it is of the scope, too.
      expect(await lengthFor({})).toBeLessThan(2);
    }
  });

  test("a parked sequence continues from a copy of its state", async () => {
    const pool = newPool(1, 4, copier(false));
    const sequence = await pool.acquire(owner);
    sequence.reserve(3);
    sequence.append([1, 2, 3]);
    const waiting = pool.acquire(other);
    pool.next(sequence);
    sequence.restart([1, 2, 3, 4]);
    pool.release(await waiting);
    expect(await sequence.unpark(undefined)).toEqual([4]);
    expect(sequence.ids).toEqual([1, 2, 3]);
    sequence.reserve(1);
    sequence.append([4]);
  });

  test("a text that leaves no room for a copy is computed", async () => {
    const pool = newPool(1, 2, copier(true));
    const ids = numbers(blockTokens + 5);
    await use(pool, ids);
    expect(await use(pool, [...ids, 1], other)).toBe(0);
  });

  test("a state is not used if its part of the cache was evicted", async () => {
    const pool = newPool(1, 2, copier(true));
    const ids = numbers(blockTokens + 5);
    await use(pool, ids);
    await use(pool, numbers(2 * blockTokens, 500));
    expect(await use(pool, [...ids, 1])).toBe(0);
  });

  test("a draft is rolled back unless all of it was accepted", async () => {
    const copies = copier(false);
    const pool = newPool(1, 4, copies);
    const sequence = await pool.acquire(owner);
    sequence.reserve(3);
    sequence.append([1, 2, 3]);
    const row = sequence.stateRow;
    sequence.beginDraft();
    expect(sequence.stateRow).not.toBe(row);
    sequence.reserve(3);
    expect(sequence.acceptDraft([4, 5, 6], 2)).toEqual([4, 5]);
    expect(sequence.stateRow).toBe(row);
    expect(sequence.ids).toEqual([1, 2, 3]);
    sequence.reserve(2);
    sequence.append([4, 5]);
    sequence.beginDraft();
    sequence.reserve(2);
    expect(sequence.acceptDraft([6, 7], 2)).toEqual([]);
    expect(sequence.ids).toEqual([1, 2, 3, 4, 5, 6, 7]);
    pool.release(sequence);
    // Both states stay cached: before the draft and after it.
    expect(await use(pool, [1, 2, 3, 4, 5, 9])).toBe(5);
    expect(await use(pool, [1, 2, 3, 4, 5, 6, 7, 8])).toBe(7);
  });

  test("no sequence continues from the state of a failed run", async () => {
    const pool = newPool(1, 4, copier(false));
    const sequence = await pool.acquire(owner);
    sequence.reserve(3);
    sequence.append([1, 2, 3]);
    sequence.reserve(2);
    expect(() => sequence.reserve(2)).toThrow(/got one with a failed run; restart it/);
    pool.release(sequence);
    expect(await use(pool, [1, 2, 3, 4, 5])).toBe(0);
  });
});

const families = ["mamba", "mamba2", "jamba", "lfm2", "qwen35", "kimi-linear", "rwkv7", "rwkv6", "minimax-01"];
/** One for each kind of state: sessions are the same code on the reference, which is slow. */
const fewFamilies = ["mamba2", "jamba", "qwen35", "rwkv7"];

describe.each([
  ["reference", isWholeGrid ? families : fewFamilies],
  ["wasm", families],
] as const)("sessions of recurrent models on %s", (backend, names) => {
  const open = (kind: "reference" | "wasm"): Promise<Runtime> =>
    createRuntime(kind === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
  const greedy = { temperature: 0, maxTokens: 6, logitBias: { 2: Number.NEGATIVE_INFINITY } } as const;
  const prompt = [5, 9, 31, 17, 8];
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await open(backend);
  });
  afterAll(() => runtime.dispose());

  describe.each(names)("%s", (name) => {
    const bytes = familyModel(withVocabulary(readFamilyGolden(name)));
    const load = (on: Runtime): Promise<Model> => loadModel(bytes, { runtime: on, cacheType: "f32", sequences: 2 });
    let model: Model;
    beforeAll(async () => {
      model = await load(runtime);
    });
    afterAll(() => model.dispose());
    /** By a model that has computed nothing before. */
    async function afresh(ids: readonly number[]): Promise<readonly number[]> {
      await using other = await load(runtime);
      return (await other.createSession().complete({ ids }, greedy)).ids;
    }

    test("the next turn continues from the state, with the same tokens as a fresh computation", async () => {
      const session = model.createSession();
      const first = await session.complete({ ids: prompt }, greedy);
      const longer = [...prompt, ...first.ids, 21, 4];
      const second = await session.complete({ ids: longer }, greedy);
      expect(second.usage.cachedTokens).toBe(longer.length - 3);
      expect(second.ids).toEqual(await afresh(longer));
    });

    test("forks and truncated sessions continue from the same state independently", async () => {
      const session = model.createSession();
      const first = await session.complete({ ids: prompt }, greedy);
      const fork = session.fork();
      const text = [...prompt, ...first.ids];
      for (const [from, ids] of [
        [session, [...text, 21, 4]],
        [fork, [...text, 12]],
        [session, [...text, 33, 34, 35]],
      ] as const) {
        const { usage, ids: chosen } = await from.complete({ ids }, greedy);
        expect(usage.cachedTokens).toBe(text.length - 1);
        expect(chosen).toEqual(await afresh(ids));
      }
    });

    test("a different text is computed from its start, and two texts at a time do not interfere", async () => {
      const [one, two] = [model.createSession(), model.createSession()];
      const [a, b] = [
        [...prompt, 3, 3, 3],
        [...prompt.slice(0, 3), 12, 13],
      ];
      const together = await Promise.all([one.complete({ ids: a }, greedy), two.complete({ ids: b }, greedy)]);
      expect(together.map(({ ids }) => ids)).toEqual([await afresh(a), await afresh(b)]);
    });

    test.each([
      ["that come true", [...prompt, 13, 13, 13, 13], true],
      // Behind 13, 13 the prompt has another token than the one that is always chosen.
      ["that do not", [13, 13, ...prompt, ...prompt, 11], false],
    ])("guesses %s change no token", async (_kind, ids, areTrue) => {
      const options = { ...greedy, maxTokens: 12, logitBias: { 13: 1000 } };
      const plain = await model.createSession().complete({ ids }, options);
      const session = model.createSession();
      const guessed = await session.complete({ ids }, { ...options, promptLookup: 4 });
      expect(guessed.ids).toEqual(plain.ids);
      const { draftedTokens, acceptedTokens } = guessed.usage;
      expect(areTrue ? acceptedTokens : draftedTokens - acceptedTokens).toBeGreaterThan(0);
      // The session continues from there.
      const longer = [...ids, ...guessed.ids, 7];
      const next = await session.complete({ ids: longer }, greedy);
      expect(next.usage.cachedTokens).toBeGreaterThanOrEqual(longer.length - 2);
      expect(next.ids).toEqual(await afresh(longer));
    });

    test.each([0, 4])("unread streams are parked and continue with the same text (promptLookup %i)", async (promptLookup) => {
      await using other = await load(runtime);
      const options = { ...greedy, maxTokens: 16, promptLookup };
      const wanted = await other.createSession().complete({ ids: prompt }, options);
      const streams = [0, 1].map(() => other.createSession().generate({ ids: prompt }, options));
      const texts: number[][] = [[], []];
      const read = async (i: number): Promise<boolean> => {
        const { value, done } = await streams[i]!.next();
        if (value?.type === "text") texts[i]!.push(...value.ids);
        return done === true;
      };
      for (let part = 0; part < 5; part++) await Promise.all([read(0), read(1)]);
      // As many texts as push every state of theirs out.
      for (let i = 0; i < 8; i++) await other.createSession().complete({ ids: [i + 3, 9, 12, 4, i + 3] }, greedy);
      while (!(await read(0)));
      while (!(await read(1)));
      expect(texts).toEqual([wanted.ids, wanted.ids]);
    });

    test("states of a snapshot stay in its session, unless a key authenticates it", async () => {
      const key = new Uint8Array(32);
      const session = model.createSession();
      const first = await session.complete({ ids: prompt }, greedy);
      const longer = [...prompt, ...first.ids, 21, 4];
      for (const options of [{}, { key }]) {
        await using other = await load(runtime);
        const restored = await other.restoreSession(await session.save(options), options);
        const { usage, ids } = await other.createSession().complete({ ids: longer }, greedy);
        expect(usage.cachedTokens > 0).toBe("key" in options);
        expect(ids).toEqual((await restored.complete({ ids: longer }, greedy)).ids);
      }
    });

    test("a restored session continues without computing the prompt again", async () => {
      const session = model.createSession();
      const first = await session.complete({ ids: prompt }, greedy);
      const saved = await session.save();
      const longer = [...prompt, ...first.ids, 21, 4];
      const expected = await session.complete({ ids: longer }, greedy);
      await using elsewhere = await open(backend === "wasm" ? "reference" : "wasm");
      for (const on of [runtime, elsewhere]) {
        await using other = await load(on);
        const restored = await other.restoreSession(saved);
        expect(await restored.save()).toEqual(saved);
        const next = await restored.complete({ ids: longer }, greedy);
        expect(next.usage.cachedTokens).toBe(longer.length - 3);
        expect(next.ids).toEqual(expected.ids);
      }
    });
  });
});
