import { describe, expect, test, vi } from "vitest";
import { fastSha256, PortableSha256, roundConstants } from "../src/pull/sha256.ts";
import { type Compress, compileCompress } from "../src/pull/sha256Wasm.ts";
import { randomFrom, sha256 } from "./faultyHub.ts";

const compressions: readonly (readonly [string, () => Promise<Compress | undefined>])[] = [
  ["JavaScript", async () => undefined],
  ["WebAssembly", () => compileCompress(roundConstants)],
];

describe.each(compressions)("the SHA-256 of %s is Node's", (_, open) => {
  const random = randomFrom(5);
  const randomBytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => random() * 256);

  test("for every length, in pieces of any size", async () => {
    const compress = await open();
    for (let length = 0; length < 300; length++) {
      const bytes = randomBytes(length);
      const hash = new PortableSha256(compress);
      for (let at = 0; at < length; ) {
        const step = Math.floor(random() * 100);
        hash.update(bytes.subarray(at, at + step));
        at += step;
      }
      expect(hash.hex()).toBe(sha256(bytes));
    }
  });

  test("around the blocks that are hashed at once, from any offset", async () => {
    const compress = await open();
    const bytes = randomBytes(3 * 65_536 + 200);
    for (const length of [65_535, 65_536, 65_537, 65_599, 65_600, 131_072, 131_136, 3 * 65_536 + 1]) {
      const hash = new PortableSha256(compress);
      const offset = length % 61;
      hash.update(bytes.subarray(offset, offset + 1));
      hash.update(bytes.subarray(offset + 1, offset + length));
      expect(hash.hex(), String(length)).toBe(sha256(bytes.subarray(offset, offset + length)));
    }
  });

  test("for two inputs whose pieces take turns", async () => {
    const compress = await open();
    const inputs = [randomBytes(1000), randomBytes(1000)];
    const hashes = inputs.map(() => new PortableSha256(compress));
    for (let at = 0; at < 1000; at += 100) hashes.forEach((hash, i) => void hash.update(inputs[i]!.subarray(at, at + 100)));
    expect(hashes.map((hash) => hash.hex())).toEqual(inputs.map(sha256));
  });
});

test("where WebAssembly is missing or forbidden, JavaScript hashes", async () => {
  const instantiate = vi.spyOn(WebAssembly, "instantiate");
  const hashed = async (): Promise<string> => {
    const hash = (await fastSha256())();
    hash.update(new Uint8Array(100));
    return hash.hex();
  };
  // Not Node, whose own SHA-256 is faster.
  vi.stubGlobal("process", undefined);
  try {
    expect(await hashed()).toBe(sha256(new Uint8Array(100)));
    expect(instantiate).toHaveBeenCalledOnce();
    instantiate.mockRejectedValue(new WebAssembly.CompileError("forbidden by the page's policy"));
    expect(await hashed()).toBe(sha256(new Uint8Array(100)));
    vi.stubGlobal("WebAssembly", undefined);
    expect(await hashed()).toBe(sha256(new Uint8Array(100)));
  } finally {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  }
});
