import type { KernelDefinition } from "../kernel.ts";
import { input, output, toHalf } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { count, extent, maximum } from "./shared/shape.ts";

/**
 * A lane per word of the cache: one f32, or two f16 of one head, so that no two lanes write a word. Where heads are odd in size
 * and share words, a lane per f16 that changes its half of the word alone.
 */
export const kvWrite: KernelDefinition = {
  unsupported({ inputs: [cache] }) {
    return cache!.dtype === "q8_0" ? "a q8_0 cache has no kernel on webgpu yet; use f16" : undefined;
  },
  build({ inputs: [cache, k, v] }) {
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

const valueAt = `fn valueAt(t: u32, h: u32, d: u32) -> f32 {
  let row = t * p.kvHeads + h;
  if (d < p.dK) { return k[row * p.dK + d]; }
  return v[row * p.dV + d - p.dK];
}`;
