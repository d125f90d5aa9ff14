import { describe, expect, test } from "vitest";
import { SnapshotError } from "../src/errors.ts";
import { crc32, decodeSnapshot, encodeSnapshot, type Snapshot } from "../src/snapshot.ts";

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
  test("come back as they were", () => {
    expect(decodeSnapshot(bytes, target)).toMatchObject(snapshot);
    // At any place of a buffer.
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    expect(decodeSnapshot(shifted.subarray(3), target)).toMatchObject(snapshot);
    const empty = { ...snapshot, ids: [], rows: [new Float32Array(0), new Float32Array(0)] };
    expect(decodeSnapshot(encodeSnapshot(empty), target)).toMatchObject(empty);
  });

  test("come back with the states of a recurrent model, exactly", () => {
    const states = [{ name: "state.0.convolution", elements: 3 }];
    const recurrent = { ...snapshot, states, stateRows: [Float32Array.of(1 / 3, -0, 2 ** -140)] };
    expect(decodeSnapshot(encodeSnapshot(recurrent), { ...target, states })).toMatchObject(recurrent);
    expect(refusal(encodeSnapshot(recurrent)).message).toMatch(/and states of 3; load the model with the same options/);
    expect(refusal(bytes, { states }).message).toMatch(/expected a snapshot of the .* and states of 3, got/);
    const empty = { ...recurrent, ids: [], rows: [new Float32Array(0), new Float32Array(0)], stateRows: [] };
    expect(decodeSnapshot(encodeSnapshot(empty), { ...target, states })).toMatchObject(empty);
  });

  test("have the bytes that the format says", () => {
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

  test("every changed or missing byte is noticed", () => {
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
    ["version", forged((_, view) => void view.setUint32(8, 2, true)), /version 1, got 2/],
    ["damaged", bytes.subarray(0, -1), /their checksum/],
    ["damaged", forged((_, view) => void view.setUint32(12, 2 ** 31, true)), /a header that is longer/],
    ["damaged", forged((data) => data.slice(0, -2)), /bytes behind the header instead of/],
    ["damaged", forged((data) => void data.fill(0x20, 16, 20)), /a header that is no JSON/],
    ["damaged", forged((data) => void data.set(new TextEncoder().encode("[1]".padEnd(data[12]! + 256 * data[13]!)), 16)), /lacks fields/],
  ] as const)("%s", (reason, data, message) => {
    expect(refusal(data)).toMatchObject({ reason, message: expect.stringMatching(message) });
  });

  test("other models and other caches are told apart", () => {
    expect(refusal(bytes, { model: "llama-4567" })).toMatchObject({ reason: "otherModel" });
    expect(refusal(bytes, { cacheType: "f32" })).toMatchObject({ reason: "otherCache" });
    expect(refusal(bytes, { layers: snapshot.layers.slice(0, 1) })).toMatchObject({ reason: "otherCache" });
    expect(refusal(bytes, { vocabSize: 7 })).toMatchObject({ reason: "damaged", message: expect.stringMatching(/outside the vocabulary/) });
  });
});
