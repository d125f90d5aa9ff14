import type { RopeParams } from "@centella/core";
import type { Binding, KernelDefinition } from "../kernel.ts";
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
    const bindings = [input("x", 0), input("positions", 1, "i32"), table];
    if (factors !== undefined) bindings.push(input("factors", 2));
    const pair =
      params.pairing === "half"
        ? "let pair = d % (p.n / 2u); let isSecond = d >= p.n / 2u; let apart = p.n / 2u;"
        : "let pair = d / 2u; let isSecond = d % 2u == 1u; let apart = 1u;";
    return [
      perElement({
        bindings: [...bindings, output("y")],
        uniforms: { heads: "u32", d: "u32", n: "u32" },
        declarations: `${turns}\n${factors === undefined ? "" : divided}`,
        body: `
          let d = i % p.d;
          if (d >= p.n) { y[i] = x[i]; return; }
          ${pair}
          let position = positions[i / (p.d * p.heads)];
          var frequency = vec2u(table[4u * pair], table[4u * pair + 1u]);
          ${factors === undefined ? "" : dividing}
          let angle = rotation(turnsAt(position, frequency));
          let other = select(i + apart, i - apart, isSecond);
          y[i] = x[i] * angle.x + select(-x[other], x[other], isSecond) * angle.y;
        `,
        count: (dims) => count(y.shape, dims),
        values: (dims) => ({ heads: extent(x!.shape, 1, dims), d, n }),
      }),
    ];
  },
};

/** Per pair, turns per position: the fraction as 64 bits of fixed point (high, low word), and the value as a sum of two f32. */
function frequencies(n: number, { base, scale }: RopeParams): Uint32Array {
  const words = new Uint32Array(2 * n);
  const floats = new Float32Array(words.buffer);
  for (let i = 0; i < n / 2; i++) {
    const frequency = (scale * base ** ((-2 * i) / n)) / (2 * Math.PI);
    const scaled = (frequency % 1) * 2 ** 32;
    words[4 * i] = Math.floor(scaled);
    words[4 * i + 1] = Math.floor((scaled % 1) * 2 ** 32);
    floats[4 * i + 2] = frequency;
    floats[4 * i + 3] = frequency - Math.fround(frequency);
  }
  return words;
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

const divided = `// The fraction of x >= 0 in 64 bits of fixed point (high, low word); exact.
fn fixedOf(x: f32) -> vec2u {
  let scaled = fract(x) * 4294967296.0;
  return vec2u(u32(scaled), u32(fract(scaled) * 4294967296.0));
}
fn dividedBy(high: f32, low: f32, factor: f32) -> vec2u {
  let quotient = high / factor;
  let rest = (fma(-quotient, factor, high) + low) / factor;
  let a = fixedOf(quotient);
  let b = fixedOf(abs(rest));
  if (rest < 0.0) { return vec2u(a.x - b.x - select(0u, 1u, a.y < b.y), a.y - b.y); }
  let sum = a.y + b.y;
  return vec2u(a.x + b.x + select(0u, 1u, sum < a.y), sum);
}`;

const dividing = `let factor = factors[pair];
          if (factor != 1.0) { frequency = dividedBy(bitcast<f32>(table[4u * pair + 2u]), bitcast<f32>(table[4u * pair + 3u]), factor); }`;
