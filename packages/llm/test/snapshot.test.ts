import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { crc32, decodeSnapshot, encodeSnapshot, type Snapshot } from "../src/cache/snapshot.ts";
import { importKey, type SnapshotKey, sign, verify } from "../src/cache/snapshotMac.ts";
import { SnapshotError } from "../src/errors.ts";

const snapshot: Snapshot = {
  model: "llama-0123",
  cacheType: "f16",
  layers: [
    { name: "cache.0", elements: 4 },
    { name: "cache.1", elements: 2 },
  ],
  states: [],
  messages: [{ role: "user", content: "Zwölf" }],
  ids: [5, 6, 7],
  rows: [Float32Array.from({ length: 12 }, (_, i) => i / 4 - 1), Float32Array.from({ length: 6 }, (_, i) => 2 ** -i)],
  stateRows: [],
};
const target = { model: snapshot.model, cacheType: snapshot.cacheType, layers: snapshot.layers, states: snapshot.states, vocabSize: 8 };
const bytes = encodeSnapshot(snapshot);

function refusal(data: Uint8Array, other: Partial<typeof target> = {}): SnapshotError {
  try {
    decodeSnapshot(data, { ...target, ...other });
  } catch (error) {
    if (error instanceof SnapshotError) return error;
    throw error;
  }
  throw new Error("the bytes were taken");
}

/** The bytes with a change, and a checksum that fits again. */
function forged(change: (data: Uint8Array, view: DataView) => Uint8Array | undefined): Uint8Array {
  const copy = bytes.slice(0, -4);
  const data = change(copy, new DataView(copy.buffer)) ?? copy;
  const out = new Uint8Array(data.length + 4);
  out.set(data);
  new DataView(out.buffer).setUint32(data.length, crc32(data), true);
  return out;
}

describe("snapshots", () => {
  test("are restored unchanged", () => {
    expect(decodeSnapshot(bytes, target)).toMatchObject(snapshot);
    // At any place of a buffer.
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    expect(decodeSnapshot(shifted.subarray(3), target)).toMatchObject(snapshot);
    const empty = { ...snapshot, ids: [], rows: [new Float32Array(0), new Float32Array(0)] };
    expect(decodeSnapshot(encodeSnapshot(empty), target)).toMatchObject(empty);
  });

  test("restore the states of a recurrent model exactly", () => {
    const states = [{ name: "state.0.convolution", elements: 3 }];
    const recurrent = { ...snapshot, states, stateRows: [Float32Array.of(1 / 3, -0, 2 ** -140)] };
    expect(decodeSnapshot(encodeSnapshot(recurrent), { ...target, states })).toMatchObject(recurrent);
    expect(refusal(encodeSnapshot(recurrent)).message).toMatch(/and states of 3; load the model with the same options/);
    expect(refusal(bytes, { states }).message).toMatch(/expected a snapshot of the .* and states of 3, got/);
    const empty = { ...recurrent, ids: [], rows: [new Float32Array(0), new Float32Array(0)], stateRows: [] };
    expect(decodeSnapshot(encodeSnapshot(empty), { ...target, states })).toMatchObject(empty);
  });

  test("have the bytes that the format specifies", () => {
    const header = JSON.stringify({
      model: "llama-0123",
      cacheType: "f16",
      layers: snapshot.layers,
      messages: snapshot.messages,
      tokens: 3,
    });
    const text = new TextEncoder().encode(header);
    const halves = [...snapshot.rows[0]!, ...snapshot.rows[1]!];
    expect(new TextDecoder().decode(bytes.subarray(0, 8))).toBe("CENTELLA");
    expect([...bytes.subarray(8, 16)]).toEqual([1, 0, 0, 0, text.length & 255, text.length >> 8, 0, 0]);
    expect(bytes.subarray(16, 16 + text.length)).toEqual(text);
    const view = new DataView(bytes.buffer, 16 + text.length);
    expect([0, 4, 8].map((at) => view.getInt32(at, true))).toEqual([5, 6, 7]);
    expect(view.getUint16(12, true)).toBe(0xbc00);
    expect(view.byteLength).toBe(12 + 2 * halves.length + 4);
  });

  test("crc32 is that of ZIP and PNG", () => {
    expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
  });

  test("every changed or missing byte is detected", () => {
    for (let i = 0; i < bytes.length; i++) {
      const changed = Uint8Array.from(bytes);
      changed[i]! ^= 1 << (i % 8);
      expect(refusal(changed).code).toBe("snapshot");
      expect(refusal(bytes.subarray(0, i)).code).toBe("snapshot");
    }
  });

  test.each([
    ["foreign", new TextEncoder().encode("GGUF and then some more bytes"), /a snapshot of a session, got other bytes/],
    ["foreign", new Uint8Array(0), /got other bytes/],
    ["version", forged((_, view) => void view.setUint32(8, 3, true)), /version 1 or 2, got 3/],
    ["damaged", bytes.subarray(0, -1), /another checksum/],
    ["damaged", forged((_, view) => void view.setUint32(12, 2 ** 31, true)), /a header that is longer/],
    ["damaged", forged((data) => data.slice(0, -2)), /bytes after the header instead of/],
    ["damaged", forged((data) => void data.fill(0x20, 16, 20)), /a header that is not JSON/],
    [
      "damaged",
      forged((data) => void data.set(new TextEncoder().encode("[1]".padEnd(data[12]! + 256 * data[13]!)), 16)),
      /a header that is not an object/,
    ],
  ] as const)("%s", (reason, data, message) => {
    expect(refusal(data)).toMatchObject({ reason, message: expect.stringMatching(message) });
  });

  test("other models and other caches are distinguished", () => {
    expect(refusal(bytes, { model: "llama-4567" })).toMatchObject({ reason: "otherModel" });
    expect(refusal(bytes, { cacheType: "f32" })).toMatchObject({ reason: "otherCache" });
    expect(refusal(bytes, { layers: snapshot.layers.slice(0, 1) })).toMatchObject({ reason: "otherCache" });
    expect(refusal(bytes, { vocabSize: 7 })).toMatchObject({ reason: "damaged", message: expect.stringMatching(/outside the vocabulary/) });
  });
});

describe("a forged header", () => {
  const text = JSON.stringify({ ...header(bytes), states: [] });

  function header(data: Uint8Array): Record<string, unknown> {
    const { length } = data.subarray(16, 16 + new DataView(data.buffer).getUint32(12, true));
    return JSON.parse(new TextDecoder().decode(data.subarray(16, 16 + length))) as Record<string, unknown>;
  }

  /** The snapshot with another header, and a checksum that fits. */
  function withHeader(json: string): Uint8Array {
    const other = new TextEncoder().encode(json);
    const rest = bytes.subarray(16 + new DataView(bytes.buffer).getUint32(12, true), -4);
    const data = new Uint8Array(16 + other.length + rest.length + 4);
    data.set(bytes.subarray(0, 12));
    new DataView(data.buffer).setUint32(12, other.length, true);
    data.set(other, 16);
    data.set(rest, 16 + other.length);
    new DataView(data.buffer).setUint32(data.length - 4, crc32(data.subarray(0, -4)), true);
    return data;
  }

  test("is accepted if it is valid", () => {
    expect(decodeSnapshot(withHeader(text), target)).toMatchObject(snapshot);
  });

  test.each([
    ["null", /a header that is not an object/],
    ["[]", /a header that is not an object/],
    ["7", /a header that is not an object/],
    [{ layers: [null] }, /a header whose layers is not a list of layers/],
    [{ layers: "cache" }, /a header whose layers/],
    [{ layers: [{ name: "cache.0", elements: 2 ** 60 }] }, /a header whose layers/],
    [{ layers: [{ name: "cache.0", elements: -4 }] }, /a header whose layers/],
    [{ states: null }, /a header whose states is not left out or a list of states/],
    [{ states: [{ elements: 1 }] }, /a header whose states/],
    [{ messages: [1, null] }, /malformed messages/],
    [{ messages: {} }, /malformed messages/],
    [{ messages: [{ role: 1, content: "" }] }, /malformed messages/],
    [{ messages: [{ role: "user", content: [{ type: "image" }] }] }, /malformed messages/],
    [{ tokens: 2 ** 53 }, /a header whose tokens is not a whole number from 0/],
    [{ tokens: 2 ** 52 }, /bytes after the header instead of/],
    [{ tokens: 0.5 }, /a header whose tokens/],
    [{ tokens: "3" }, /a header whose tokens/],
    [{ cacheType: "f64" }, /a header whose cacheType is not "f32" or "f16" or "q8_0"/],
    [{ model: null }, /a header whose model is not a string/],
  ] as const)("%j is damaged", (change, message) => {
    const json = typeof change === "string" ? change : JSON.stringify({ ...(JSON.parse(text) as object), ...change });
    expect(refusal(withHeader(json))).toMatchObject({ reason: "damaged", message: expect.stringMatching(message) });
  });

  test("of any depth and length is refused with a one-line message", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const nested = text.replace('"content":"Zwölf"', `"content":"","more":${deep}`);
    expect(refusal(withHeader(nested))).toMatchObject({ reason: "damaged" });
    const layers = Array.from({ length: 10_000 }, (_, i) => ({ name: `cache.${i}`, elements: i + 1 }));
    for (const change of [{ layers }, { model: `\u001b[31m${"x".repeat(100_000)}` }]) {
      const { message } = refusal(withHeader(JSON.stringify({ ...(JSON.parse(text) as object), ...change })));
      expect(message.length).toBeLessThan(500);
      expect(message).not.toContain("\u001b");
    }
  });

  test("with any value in any field gives a SnapshotError or a snapshot", () => {
    const values: readonly unknown[] = [null, true, 0, -1, 0.5, 1e300, 2 ** 53, "", "x", [], [null], {}, { role: null }, [[[]]], undefined];
    let taken = 0;
    let refused = 0;
    const visit = (path: readonly (string | number)[], node: unknown): void => {
      for (const value of values) {
        const changed = JSON.stringify(replaced(JSON.parse(text), path, value)) ?? "null";
        try {
          const { messages, ids } = decodeSnapshot(withHeader(changed), target);
          for (const { role } of messages) expect(typeof role).toBe("string");
          expect(ids).toEqual(snapshot.ids);
          taken++;
        } catch (error) {
          expect(error, `${path.join(".")} = ${JSON.stringify(value)}`).toBeInstanceOf(SnapshotError);
          refused++;
        }
      }
      if (typeof node === "object" && node !== null) for (const [key, child] of Object.entries(node)) visit([...path, key], child);
    };
    visit([], JSON.parse(text));
    expect(refused).toBeGreaterThan(150);
    // Names of layers, and what messages say.
    expect(taken).toBeGreaterThan(10);
  });

  function replaced(node: unknown, [key, ...rest]: readonly (string | number)[], value: unknown): unknown {
    if (key === undefined) return value;
    return Array.isArray(node)
      ? node.map((element, i) => (String(i) === key ? replaced(element, rest, value) : element))
      : { ...(node as object), [key]: replaced((node as Record<string, unknown>)[key], rest, value) };
  }
});

describe("a snapshot with a MAC", () => {
  const key = Uint8Array.from({ length: 32 }, (_, i) => i);

  async function signed(): Promise<Uint8Array<ArrayBuffer>> {
    const data = encodeSnapshot(snapshot, true);
    await sign(data, await importKey("save", key, "sign"));
    return data;
  }
  const check = async (data: Uint8Array<ArrayBuffer>, of: SnapshotKey = key): Promise<void> =>
    verify(data, await importKey("restoreSession", of, "verify"));

  test("is read like one without a MAC, and is authentic for its key", async () => {
    const data = await signed();
    expect(data).toHaveLength(bytes.length + 32);
    expect(decodeSnapshot(data, target)).toMatchObject(snapshot);
    await check(data);
    const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
    await check(data, imported);
    // As node:crypto computes it.
    expect(createHmac("sha256", key).update(data.subarray(0, -32)).digest()).toEqual(Buffer.from(data.subarray(-32)));
  });

  test("every change, another key and a missing MAC are detected", async () => {
    const data = await signed();
    for (let i = 12; i < data.length; i++) {
      const changed = Uint8Array.from(data);
      changed[i]! ^= 1 << (i % 8);
      // With a checksum that fits.
      new DataView(changed.buffer).setUint32(data.length - 36, crc32(changed.subarray(0, -36)), true);
      if (i < data.length - 36 || i >= data.length - 32) await expect(check(changed)).rejects.toMatchObject({ reason: "unauthenticated" });
    }
    await expect(
      check(
        data,
        Uint8Array.from(key, (byte) => byte ^ 1),
      ),
    ).rejects.toMatchObject({ reason: "unauthenticated" });
    await expect(check(bytes)).rejects.toThrow(/expected a snapshot with a MAC of the key, got one without a MAC/);
    await expect(check(new Uint8Array(64))).rejects.toMatchObject({ reason: "foreign" });
    expect(refusal(data.subarray(0, -40)).code).toBe("snapshot");
  });

  test("the key has a minimum length", async () => {
    await expect(importKey("save", new Uint8Array(15), "sign")).rejects.toThrow(/save: expected a key of at least 16 bytes, got 15/);
  });

  test("a CryptoKey must be for HMAC with SHA-256", async () => {
    const other = await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-512" }, false, ["sign"]);
    await expect(importKey("save", other, "sign")).rejects.toThrow(/got one for HMAC with SHA-512 and the usages sign/);
    const aes = await crypto.subtle.generateKey({ name: "AES-GCM", length: 128 }, false, ["encrypt"]);
    await expect(importKey("save", aes, "sign")).rejects.toThrow(/got one for AES-GCM and the usages encrypt/);
    const onlySign = await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    await expect(importKey("restoreSession", onlySign, "verify")).rejects.toThrow(/the usage "verify"/);
  });
});
