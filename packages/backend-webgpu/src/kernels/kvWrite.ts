import type { Kernel, KernelCall, KernelDefinition } from "../kernel.ts";
import { input, output, toHalf } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { quotient } from "./shared/quotient.ts";
import { count, extent, maximum } from "./shared/shape.ts";

/**
 * A lane per word of the cache: one f32, or two f16 of one head, so that no two lanes write a word. Where heads are odd in size
 * and share words, a lane per f16 that changes its half of the word alone.
 */
export const kvWrite: KernelDefinition = {
  build(call) {
    const {
      inputs: [cache, k, v],
    } = call;
    if (cache!.dtype === "q8_0") return [writeBlocks(call)];
    const isHalf = cache!.dtype === "f16";
    const isShared = isHalf && maximum(cache!.shape[2]!) % 2 === 1;
    const perUnit = isHalf && !isShared ? 2 : 1;
    const unit = "(slot * p.kvHeads * p.units + rest)";
    const store = isShared
      ? `let shift = ${unit} % 2u * 16u;
          atomicAnd(&cache[${unit} / 2u], ~(0xffffu << shift));
          atomicOr(&cache[${unit} / 2u], toHalf(valueAt(t, h, d)) << shift);`
      : `cache[${unit}] = ${isHalf ? "toHalf(valueAt(t, h, 2u * d)) | (toHalf(valueAt(t, h, 2u * d + 1u)) << 16u)" : "valueAt(t, h, d)"};`;
    return [
      perElement({
        bindings: [
          input("k", 1),
          input("v", 2),
          input("slots", 3, "i32"),
          output("cache", isShared ? "atomic<u32>" : isHalf ? "u32" : "f32"),
        ],
        uniforms: { size: "u32", kvHeads: "u32", units: "u32", dK: "u32", dV: "u32" },
        declarations: `${isHalf ? `${toHalf}\n` : ""}${valueAt}`,
        // A negative slot is a large one when taken as unsigned.
        body: `
          let t = i / (p.kvHeads * p.units);
          let rest = i % (p.kvHeads * p.units);
          let h = rest / p.units;
          let d = rest % p.units;
          let slot = u32(slots[t]);
          if (slot >= p.size) { return; }
          ${store}
        `,
        count: (dims) => (count(k!.shape, dims) + count(v!.shape, dims)) / perUnit,
        values(dims) {
          const [dK, dV] = [extent(k!.shape, 2, dims), extent(v!.shape, 2, dims)];
          const { shape } = cache!;
          return { size: extent(shape, 0, dims), kvHeads: extent(shape, 1, dims), units: (dK + dV) / perUnit, dK, dV };
        },
      }),
    ];
  },
};

/**
 * q8_0: a lane per block of 32, rounded as `quantizeRow` of `@centella/quant` does by default. A block is 17 times 16 bits, and
 * shares words with its neighbours.
 */
function writeBlocks({ inputs: [cache, k, v] }: KernelCall): Kernel {
  return perElement({
    bindings: [input("k", 1), input("v", 2), input("slots", 3, "i32"), output("cache", "atomic<u32>")],
    uniforms: { size: "u32", kvHeads: "u32", blocks: "u32", dK: "u32", dV: "u32" },
    declarations: `${toHalf}\n${quotient}\n${valueAt}\n${rounded}`,
    body: `
      let t = i / (p.kvHeads * p.blocks);
      let rest = i % (p.kvHeads * p.blocks);
      let h = rest / p.blocks;
      let first = rest % p.blocks * 32u;
      let slot = u32(slots[t]);
      if (slot >= p.size) { return; }
      var largest = 0.0;
      for (var j = 0u; j < 32u; j++) { largest = max(largest, abs(valueAt(t, h, first + j))); }
      let d = quotient(largest, 127.0);
      var inverse = 0.0;
      if (d > 0.0) { inverse = quotient(1.0, d); }
      for (var n = 0u; n < 17u; n++) {
        var bits = toHalf(d);
        if (n > 0u) {
          let j = first + 2u * n - 2u;
          bits = rounded(valueAt(t, h, j) * inverse) | (rounded(valueAt(t, h, j + 1u) * inverse) << 8u);
        }
        let at = (slot * p.kvHeads * p.blocks + rest) * 17u + n;
        atomicAnd(&cache[at / 2u], ~(0xffffu << (at % 2u * 16u)));
        atomicOr(&cache[at / 2u], bits << (at % 2u * 16u));
      }
    `,
    count: (dims) => (count(k!.shape, dims) + count(v!.shape, dims)) / 32,
    values(dims) {
      const [dK, dV] = [extent(k!.shape, 2, dims), extent(v!.shape, 2, dims)];
      const { shape } = cache!;
      return { size: extent(shape, 0, dims), kvHeads: extent(shape, 1, dims), blocks: (dK + dV) / 32, dK, dV };
    },
  });
}

// The byte of a quant: halves round away from zero.
const rounded = `fn rounded(x: f32) -> u32 {
  let whole = trunc(x);
  let q = whole + select(0.0, sign(x), abs(x - whole) >= 0.5);
  return bitcast<u32>(i32(q)) & 0xffu;
}`;

const valueAt = `fn valueAt(t: u32, h: u32, d: u32) -> f32 {
  let row = t * p.kvHeads + h;
  if (d < p.dK) { return k[row * p.dK + d]; }
  return v[row * p.dV + d - p.dK];
}`;
