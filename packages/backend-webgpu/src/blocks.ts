import { type BlockType, blockLayout } from "@centella/quant";

/**
 * How a weight is read from its block, in WGSL: statements that see `at`, the block's first byte, and `j`, the weight in it, and
 * return the value. `byte(at)` and `half(at)` read the binding. The layouts are those of `@centella/quant`, one file per type there.
 */
const readers: Readonly<Partial<Record<BlockType, string>>> = {
  q4_0: "return half(at) * f32(nibble(at + 2u, j) - 8);",
  q4_1: "return half(at) * f32(nibble(at + 4u, j)) + half(at + 2u);",
  q5_0: "return half(at) * f32((nibble(at + 6u, j) | (bit(at + 2u, j) << 4u)) - 16);",
  q5_1: "return half(at) * f32(nibble(at + 8u, j) | (bit(at + 4u, j) << 4u)) + half(at + 2u);",
  q8_0: "return half(at) * f32(signed8(at + 2u + j));",
  iq4_nl: "return half(at) * f32(level(nibble(at + 2u, j)));",
  mxfp4: "return ldexp(f32(doubled(nibble(at + 1u, j))), i32(byte(at)) - 128);",
  q2_K: `
    let group = j / 16u;
    let scales = byte(at + group);
    let q = (byte(at + 16u + (j >> 7u) * 32u + (j & 31u)) >> (group & 6u)) & 3u;
    return half(at + 80u) * f32(scales & 15u) * f32(q) - half(at + 82u) * f32(scales >> 4u);`,
  q3_K: `
    let group = j / 16u;
    let low = (byte(at + 96u + (group & 7u)) >> select(4u, 0u, group < 8u)) & 15u;
    let high = (byte(at + 104u + (group & 3u)) >> (2u * (group >> 2u))) & 3u;
    let third = (byte(at + (j & 31u)) >> (group >> 1u)) & 1u;
    let q = i32((byte(at + 32u + (j >> 7u) * 32u + (j & 31u)) >> (group & 6u)) & 3u) - select(4, 0, third == 1u);
    return half(at + 108u) * f32(i32(low | (high << 4u)) - 32) * f32(q);`,
  q4_K: `
    let group = j / 32u;
    let q = (byte(at + 16u + (group >> 1u) * 32u + (j & 31u)) >> ((group & 1u) * 4u)) & 15u;
    return half(at) * kScale(at + 4u, group) * f32(q) - half(at + 2u) * kMinimum(at + 4u, group);`,
  q5_K: `
    let group = j / 32u;
    let fifth = (byte(at + 16u + (j & 31u)) >> group) & 1u;
    let q = ((byte(at + 48u + (group >> 1u) * 32u + (j & 31u)) >> ((group & 1u) * 4u)) & 15u) | (fifth << 4u);
    return half(at) * kScale(at + 4u, group) * f32(q) - half(at + 2u) * kMinimum(at + 4u, group);`,
  q6_K: `
    let part = j >> 7u;
    let k = (j >> 5u) & 3u;
    let l = j & 31u;
    let low = (byte(at + part * 64u + (k & 1u) * 32u + l) >> ((k >> 1u) * 4u)) & 15u;
    let high = (byte(at + 128u + part * 32u + l) >> (2u * k)) & 3u;
    return half(at + 208u) * f32(signed8(at + 192u + j / 16u)) * f32(i32(low | (high << 4u)) - 32);`,
  iq4_xs: `
    let group = j / 32u;
    let low = (byte(at + 4u + (group >> 1u)) >> (4u * (group & 1u))) & 15u;
    let high = (byte(at + 2u + (group >> 2u)) >> (2u * (group & 3u))) & 3u;
    return half(at) * f32(i32(low | (high << 4u)) - 32) * f32(level(nibble(at + 8u + group * 16u, j & 31u)));`,
};

/** Functions that readers call, by the text that calls for them; `$` stands for the binding's name. */
const helpers: readonly (readonly [call: RegExp, text: string])[] = [
  [
    /nibble\(/,
    "// Weight j < 16 is a low nibble, weight j + 16 the high one of the same byte.\nfn nibble_$(at: u32, j: u32) -> i32 { return i32((byte_$(at + (j & 15u)) >> ((j >> 4u) * 4u)) & 15u); }",
  ],
  [/bit\(/, "fn bit_$(at: u32, j: u32) -> i32 { return i32((byte_$(at + (j >> 3u)) >> (j & 7u)) & 1u); }"],
  [/signed8\(/, "fn signed8_$(at: u32) -> i32 { return bitcast<i32>(byte_$(at) << 24u) >> 24u; }"],
  [/kScale\(/, kPacking("kScale", "byte_$(at + j) & 63u", "(byte_$(at + j + 4u) & 15u) | ((byte_$(at + j - 4u) >> 6u) << 4u)")],
  [/kMinimum\(/, kPacking("kMinimum", "byte_$(at + j + 4u) & 63u", "(byte_$(at + j + 4u) >> 4u) | ((byte_$(at + j) >> 6u) << 4u)")],
  [/level\(/, codebook("level", [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])],
  [/doubled\(/, codebook("doubled", [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12])],
];

/** True for the block types that kernels read as they are stored; the others are kept as f32. */
export function isNativeBlock(type: BlockType): boolean {
  return Object.hasOwn(readers, type);
}

/** `fn load_<name>(i: u32) -> f32`: weight i of a binding of words that hold blocks of a native type. */
export function blockLoader(name: string, type: BlockType): string {
  const reader = readers[type]!;
  const { blockElements, blockBytes } = blockLayout(type);
  const used = helpers.filter(([call]) => call.test(reader)).map(([, text]) => text.replaceAll("$", name));
  return [
    `fn byte_${name}(at: u32) -> u32 { return (${name}[at >> 2u] >> ((at & 3u) * 8u)) & 0xffu; }`,
    // Scales lie at even bytes.
    `fn half_${name}(at: u32) -> f32 { return unpack2x16float(${name}[at >> 2u] >> ((at & 2u) * 8u)).x; }`,
    ...used,
    `fn load_${name}(i: u32) -> f32 {`,
    `  let at = i / ${blockElements}u * ${blockBytes}u;`,
    `  let j = i % ${blockElements}u;`,
    ...reader
      .trim()
      .split("\n")
      .map((line) => `  ${line.trim().replace(/\b(byte|half|nibble|bit|signed8|kScale|kMinimum|level|doubled)\(/g, `$1_${name}(`)}`),
    "}",
  ].join("\n");
}

function kPacking(fn: string, first: string, rest: string): string {
  return `fn ${fn}_$(at: u32, j: u32) -> f32 {\n  if (j < 4u) { return f32(${first}); }\n  return f32(${rest});\n}`;
}

/** Sixteen signed bytes, packed into words so that no array has to be indexed. */
function codebook(fn: string, values: readonly number[]): string {
  const words = new Uint32Array(Int8Array.from(values).buffer);
  const packed = [...words].map((word) => `0x${word.toString(16)}u`).join(", ");
  return `const ${fn}Codes_$ = vec4u(${packed});\nfn ${fn}_$(q: i32) -> i32 {\n  let code = u32(q);\n  let codes = ${fn}Codes_$;\n  return bitcast<i32>(codes[code >> 2u] << (24u - (code & 3u) * 8u)) >> 24u;\n}`;
}
