import type { RopeParams } from "@centella/core";
import type { Binding, Kernel, KernelDefinition } from "../kernel.ts";
import { input, output } from "../wgsl.ts";
import { perElement } from "./shared/elementwise.ts";
import { count, extent, maximum } from "./shared/shape.ts";

/**
 * A lane per element. Angles are kept as fractions of a turn in fixed point: position times frequency is then exact modulo one
 * turn, where f32 radians would be off by 1e-2 at position 100,000.
 */
export const rope: KernelDefinition<RopeParams> = {
  build({ inputs: [x, , factors], params, output: y }) {
    const d = maximum(x!.shape[2]!);
    const n = params.dims || d;
    const table: Binding = { name: "table", resource: { kind: "table", words: frequencies(n, params) }, access: "read", element: "u32" };
    const divided: Binding = { ...table, resource: { kind: "scratch", bytes: 4 * wordsPerPair * (n / 2) } };
    const pair =
      params.pairing === "half"
        ? "let pair = d % (p.n / 2u); let isSecond = d >= p.n / 2u; let apart = p.n / 2u;"
        : "let pair = d / 2u; let isSecond = d % 2u == 1u; let apart = 1u;";
    const rotate = perElement({
      bindings: [input("x", 0), input("positions", 1, "i32"), factors === undefined ? table : divided, output("y")],
      uniforms: { heads: "u32", d: "u32", n: "u32" },
      declarations: turns,
      body: `
        let d = i % p.d;
        if (d >= p.n) { y[i] = x[i]; return; }
        ${pair}
        let fraction = ${wordsPerPair}u * pair + 1u;
        let angle = rotation(turnsAt(positions[i / (p.d * p.heads)], vec2u(table[fraction], table[fraction + 1u])));
        let other = select(i + apart, i - apart, isSecond);
        y[i] = x[i] * angle.x + select(-x[other], x[other], isSecond) * angle.y;
      `,
      count: (dims) => count(y.shape, dims),
      values: (dims) => ({ heads: extent(x!.shape, 1, dims), d, n }),
    });
    return factors === undefined ? [rotate] : [divide(n / 2, table, { ...divided, name: "divided", access: "read_write" }), rotate];
  },
};

/** Turns per position of a pair: the whole part, then 64 bits of fraction, high word first. */
const wordsPerPair = 3;

function frequencies(n: number, { base, scale }: RopeParams): Uint32Array {
  const words = new Uint32Array(wordsPerPair * (n / 2));
  for (let i = 0; i < n / 2; i++) {
    const frequency = (scale * base ** ((-2 * i) / n)) / (2 * Math.PI);
    const high = (frequency % 1) * 2 ** 32;
    words.set([Math.floor(frequency), Math.floor(high), Math.floor((high % 1) * 2 ** 32)], wordsPerPair * i);
  }
  return words;
}

/** Divides the frequencies of `pairs` pairs by `freqFactors`: long division of 96 bits by an f32's mantissa, exact to 2^-64 turns. */
function divide(pairs: number, table: Binding, divided: Binding): Kernel {
  return perElement({
    bindings: [table, input("factors", 2), divided],
    uniforms: {},
    body: `
      let bits = bitcast<u32>(factors[i]);
      let divisor = (bits & 0x7fffffu) | 0x800000u;
      // Bits of the dividend, which the exponent lengthens by zeros or shortens.
      let length = 96 + 150 - i32((bits >> 23u) & 0xffu);
      var rest = 0u; var high = 0u; var low = 0u;
      for (var bit = 0; bit < length; bit++) {
        var digit = 0u;
        if (bit < 96) { digit = (table[${wordsPerPair}u * i + u32(bit) / 32u] >> (31u - u32(bit) % 32u)) & 1u; }
        rest = (rest << 1u) | digit;
        let isWhole = rest >= divisor;
        rest = select(rest, rest - divisor, isWhole);
        high = (high << 1u) | (low >> 31u);
        low = (low << 1u) | select(0u, 1u, isWhole);
      }
      // A negative factor turns the other way.
      if ((bits >> 31u) == 1u) { high = ~high + select(0u, 1u, low == 0u); low = 0u - low; }
      divided[${wordsPerPair}u * i + 1u] = high;
      divided[${wordsPerPair}u * i + 2u] = low;
    `,
    count: () => pairs,
    values: () => ({}),
  });
}

const turns = `// High word of the product.
fn multiplyHigh(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let first = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let second = (a & 0xffffu) * (b >> 16u) + (first & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (first >> 16u) + (second >> 16u);
}
// Fraction of a turn, in units of 2^-32, after so many positions.
fn turnsAt(position: i32, frequency: vec2u) -> u32 {
  let distance = u32(abs(position));
  let fraction = distance * frequency.x + multiplyHigh(distance, frequency.y);
  return select(fraction, 0u - fraction, position < 0);
}
// (cos, sin) of an angle in units of 2^-32 turns. WGSL bounds the error of its own only by 2^-11.
fn rotation(angle: u32) -> vec2f {
  let quarter = (angle + 0x20000000u) >> 30u;
  let x = f32(bitcast<i32>(angle - (quarter << 30u))) * ${(2 * Math.PI) / 2 ** 32};
  let s = x * x;
  let sine = x + x * s * (-0.16666667 + s * (0.0083333310 + s * (-0.00019840874 + s * 2.7525562e-6)));
  let cosine = 1.0 - 0.5 * s + s * s * (0.041666646 + s * (-0.0013887316 + s * 2.4433157e-5));
  switch (quarter) {
    case 0u: { return vec2f(cosine, sine); }
    case 1u: { return vec2f(-sine, cosine); }
    case 2u: { return vec2f(-cosine, -sine); }
    default: { return vec2f(sine, -cosine); }
  }
}`;
