import { readFileSync } from "node:fs";
import { createRuntime, type Runtime, reference } from "@centella/core";
import { describe, expect, test } from "vitest";
import { crc32 } from "../src/cache/snapshot.ts";
import { type LoadModelOptions, loadModel, type Model, type Session, SnapshotError } from "../src/index.ts";
import { tiny } from "./modelFiles.ts";
import type { SuiteContext } from "./suiteContext.ts";
import { relativeError } from "./vectors.ts";

const greedy = { temperature: 0 } as const;
const turn = "Tell me a story about a fox and a crow that wanted to see the end of the world, and a long one, please.";

export function describeSaving({ runtime, isExact }: SuiteContext): void {
  const load = (other: Runtime = runtime, options: Partial<LoadModelOptions> = {}): Promise<Model> =>
    loadModel(tiny, { runtime: other, contextLength: 256, ...options });

  describe("saved sessions", () => {
    test("continue in another process and on another backend", async () => {
      await using model = await load();
      using session = model.createSession();
      await session.complete(turn, { ...greedy, maxTokens: 12 });
      const bytes = await session.save();
      const next = await session.complete("And the crow?", { ...greedy, maxTokens: 12 });

      await using elsewhere = await load();
      const restored = await elsewhere.restoreSession(bytes);
      expect(restored.messages).toEqual(session.messages.slice(0, 2));
      const again = await restored.complete("And the crow?", { ...greedy, maxTokens: 12 });
      expect(again.ids).toEqual(next.ids);
      expect(again.usage.cachedTokens).toBe(next.usage.cachedTokens);
      expect(again.usage.cachedTokens).toBeGreaterThan(32);

      await using otherRuntime = await createRuntime({ backends: [reference()] });
      await using onReference = await load(otherRuntime, { activations: "f32" });
      const there = await onReference.restoreSession(bytes);
      const ported = await there.complete("And the crow?", { ...greedy, maxTokens: 1 });
      expect(ported.usage.cachedTokens).toBe(next.usage.cachedTokens);
      // What is saved there and comes back is what was saved here.
      using untouched = await onReference.restoreSession(bytes);
      expect(await untouched.save()).toEqual(bytes);
    });

    test("a restored cache gives the same log probabilities", async () => {
      await using model = await load();
      using session = model.createSession();
      const first = await session.complete(turn, { ...greedy, maxTokens: 8 });
      const prompt = { ids: [...first.promptIds, ...first.ids, 700] };
      const expected = await session.complete(prompt, { ...greedy, maxTokens: 4, logprobs: 4 });
      await session.complete({ ids: first.promptIds }, { ...greedy, maxTokens: 8 });
      await using other = await load();
      const restored = await other.restoreSession(await session.save());
      const got = await restored.complete(prompt, { ...greedy, maxTokens: 4, logprobs: 4 });
      expect(got.usage.cachedTokens).toBeGreaterThan(first.promptIds.length);
      expect(got.logprobs).toEqual(expected.logprobs);
    });

    test("cache entries of a snapshot are used only by its session and forks, unless a key authenticates it", async () => {
      const key = new Uint8Array(32).fill(7);
      const long = `${turn} ${turn}`;
      await using model = await load();
      using session = model.createSession();
      const { text } = await session.complete(long, { ...greedy, maxTokens: 12 });
      const [plain, signed] = [await session.save(), await session.save({ key })];
      const evil = withFalseCache(plain);
      const continued = async (of: Pick<Session, "complete" | "dispose">) => {
        const { usage } = await of.complete(long, { ...greedy, maxTokens: 12 });
        return usage.cachedTokens;
      };

      await using victim = await load(runtime, { sequences: 2 });
      const hostile = await victim.restoreSession(evil);
      const clean = await victim.createSession().complete(long, { ...greedy, maxTokens: 12 });
      expect(clean).toMatchObject({ text, usage: { cachedTokens: 0 } });
      // The hostile session and its fork have only themselves to blame.
      hostile.reset();
      const fork = hostile.fork();
      expect(await continued(hostile)).toBeGreaterThan(32);
      expect(await continued(fork)).toBeGreaterThanOrEqual(32);
      // A key vouches for nothing that was restored without one, not even on a way around.
      await using next = await load(runtime, { sequences: 2 });
      const laundered = await next.restoreSession(await hostile.save({ key }), { key });
      laundered.reset();
      expect((await laundered.complete(long, { ...greedy, maxTokens: 12 })).text).toBe(text);
      expect((await next.createSession().complete(long, { ...greedy, maxTokens: 12 })).text).toBe(text);

      await using trusting = await load(runtime, { sequences: 2 });
      await trusting.restoreSession(signed, { key });
      const shared = await trusting.createSession().complete(long, { ...greedy, maxTokens: 12 });
      expect(shared.text).toBe(text);
      expect(shared.usage.cachedTokens).toBeGreaterThanOrEqual(32);
      await using other = await load();
      for (const bytes of [plain, evil, signed.map((byte, i) => (i === signed.length - 1 ? byte ^ 1 : byte))])
        await expect(other.restoreSession(bytes, { key })).rejects.toMatchObject({ name: "SnapshotError", reason: "unauthenticated" });
      await expect(other.restoreSession(signed, { key: key.map((byte) => byte + 1) })).rejects.toMatchObject({ reason: "unauthenticated" });
      expect((await other.restoreSession(signed)).messages).toEqual(session.messages);
      await expect(other.restoreSession(null as never)).rejects.toThrow(/restoreSession: expected bytes to be a Uint8Array/);
      await expect(session.save({ keys: key } as object)).rejects.toThrow(/options among \{key, signal\}/);
      for (const wrong of ["secret", 7, null, [1]])
        await expect(session.save({ key: wrong as never })).rejects.toThrow(/save: expected key to be a CryptoKey or a Uint8Array/);
    });

    test("snapshots of other models or caches and damaged ones are refused", async () => {
      await using model = await load();
      using session = model.createSession();
      await session.complete(turn, { ...greedy, maxTokens: 2 });
      const bytes = await session.save();
      await using wide = await load(runtime, { cacheType: "f32" });
      await expect(wide.restoreSession(bytes)).rejects.toThrow(SnapshotError);
      await expect(wide.restoreSession(bytes)).rejects.toMatchObject({ reason: "otherCache" });
      // Other weights of the same names and shapes.
      const changed = readFileSync(tiny);
      changed.fill(1, changed.length / 2);
      await using other = await loadModel(changed, { runtime, contextLength: 256 });
      await expect(other.restoreSession(bytes)).rejects.toMatchObject({ reason: "otherModel" });
      await expect(model.restoreSession(bytes.subarray(1))).rejects.toMatchObject({ reason: "foreign" });
      await expect(model.restoreSession(bytes.subarray(0, -9))).rejects.toMatchObject({ reason: "damaged" });
    });

    test("a smaller context restores the tokens that fit", async () => {
      await using model = await load();
      using session = model.createSession();
      await session.complete({ ids: Array.from({ length: 100 }, (_, i) => 300 + i) }, { ...greedy, maxTokens: 2 });
      await using small = await load(runtime, { contextLength: 64 });
      const restored = await small.restoreSession(await session.save());
      const { usage } = await restored.complete({ ids: Array.from({ length: 60 }, (_, i) => 300 + i) }, { ...greedy, maxTokens: 2 });
      expect(usage.cachedTokens).toBe(59);
    });
  });

  test("an 8-bit cache", async (context) => {
    const ids = Array.from({ length: 80 }, (_, i) => (i * 37 + 5) % 4096);
    await using exact = await load(runtime, { cacheType: "f32" });
    const expected = await exact.logits(ids);
    const rounded = await load(runtime, { cacheType: "q8_0" }).catch((error: unknown) => {
      context.skip(`no cache in 8 bits here: ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    });
    const error = relativeError(await rounded.logits(ids), expected);
    expect(error).toBeLessThan(0.03);
    expect(error).toBeGreaterThan(1e-5);
    expect(rounded.info.memory.cache * 4).toBeCloseTo(exact.info.memory.cache * (34 / 32), 0);
    using session = rounded.createSession();
    await session.complete({ ids }, { ...greedy, maxTokens: 4 });
    const bytes = await session.save();
    const restored = await rounded.restoreSession(bytes);
    if (isExact) expect(await restored.save()).toEqual(bytes);
    await rounded.dispose();
  });
}

/** A snapshot whose keys and values have the wrong sign, with a checksum that fits. */
function withFalseCache(snapshot: Uint8Array): Uint8Array {
  const bytes = Uint8Array.from(snapshot);
  const view = new DataView(bytes.buffer);
  const headerEnd = 16 + view.getUint32(12, true);
  const { tokens } = JSON.parse(new TextDecoder().decode(bytes.subarray(16, headerEnd))) as { readonly tokens: number };
  for (let i = headerEnd + 4 * tokens; i < bytes.length - 4; i += 2) bytes[i + 1]! ^= 0x80;
  view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)), true);
  return bytes;
}
