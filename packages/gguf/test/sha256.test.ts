import { expect, test } from "vitest";
import { PortableSha256 } from "../src/pull/sha256.ts";
import { randomFrom, sha256 } from "./faultyHub.ts";

test("the portable SHA-256 is Node's, in pieces of any size", () => {
  const random = randomFrom(5);
  for (let length = 0; length < 300; length++) {
    const bytes = Uint8Array.from({ length }, () => random() * 256);
    const hash = new PortableSha256();
    for (let at = 0; at < length; ) {
      const step = Math.floor(random() * 100);
      hash.update(bytes.subarray(at, at + step));
      at += step;
    }
    expect(hash.hex()).toBe(sha256(bytes));
  }
});
