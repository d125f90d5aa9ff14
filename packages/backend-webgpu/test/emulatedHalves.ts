import type { HalfFunctions } from "../src/kernels/shared/halfTiles.ts";

/** Halves as floats that are rounded after each operation, for devices without the feature. */
export const emulatedHalves: HalfFunctions = {
  vector: "vec4f",
  declarations: [
    `fn halved(x: vec4f) -> vec4f {
  return vec4f(unpack2x16float(pack2x16float(x.xy)), unpack2x16float(pack2x16float(x.zw)));
}`,
  ],
  pair: (word) => `unpack2x16float(${word})`,
  rounded: (floats) => `halved(${floats})`,
  fma: (a, b, c) => `halved(fma(${a}, ${b}, ${c}))`,
  floats: (halves) => halves,
};
