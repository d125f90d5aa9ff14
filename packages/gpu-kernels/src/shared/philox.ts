import type { Emitter, U32 } from "../emitter.ts";

type Words = readonly [U32, U32, U32, U32];

/** Philox4x32-10 with the same words as `ops/shared/philox.ts` of core. */
export function philox4x32(k: Emitter, counter: Words, key: readonly [U32, U32]): Words {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const next: Words = [
      k.xor(k.xor(k.multiplyHigh(c2, 0xcd9e8d57), c1), k0),
      k.mul(c2, 0xcd9e8d57),
      k.xor(k.xor(k.multiplyHigh(c0, 0xd2511f53), c3), k1),
      k.mul(c0, 0xd2511f53),
    ];
    [c0, c1, c2, c3] = next;
    k0 = k.add(k0, 0x9e3779b9);
    k1 = k.add(k1, 0xbb67ae85);
  }
  return [c0, c1, c2, c3];
}
