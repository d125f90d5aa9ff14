import { blockLayout, floatToHalf, type GgmlType } from "@centella/quant";
import { randomBytes } from "../stats/random.ts";

/** Types that generated weights can have. */
export type WeightType = "f16" | "q4_0" | "q5_0" | "q8_0" | "q4_K" | "q5_K" | "q6_K";

/**
 * `elements` random weights in blocks of `type` (f16: single values), with a root mean square of about `scale` and a mean of 0. Quants are
 * uniform over their whole range. Block scales are normal halves that vary by a factor of two: like real weights they are never
 * subnormal, which would slow some CPUs down.
 */
export function randomBlocks(type: WeightType, elements: number, seed: number, scale: number): Uint8Array<ArrayBuffer> {
  const { blockElements, blockBytes } = blockLayout(type);
  const bytes = randomBytes(seed, (elements / blockElements) * blockBytes);
  fillers[type](bytes, scale);
  return bytes;
}

export function isWeightType(type: GgmlType): type is WeightType {
  return Object.hasOwn(fillers, type);
}

/** Overwrites the fields of each block that are not random bits. */
const fillers: Readonly<Record<WeightType, (bytes: Uint8Array, scale: number) => void>> = {
  f16(bytes, scale) {
    // Random sign and mantissa, one of two exponents: root mean square 1.21 of the larger power of two, so within a factor of 1.42 of
    // `scale`. Made on bits, since conversion from f32 would take minutes for a model of 16 GB.
    const exponent = 15 + Math.round(Math.log2(scale / 1.21));
    const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
    for (let i = 0; i < halves.length; i++) {
      const bits = halves[i]!;
      halves[i] = (bits & 0x83ff) | ((exponent - ((bits >> 10) & 1)) << 10);
    }
  },
  // Root mean squares of the quants: of 16 levels about 4.6, of 32 about 9.2, of 64 about 18.5, of 256 about 74.
  // One more level is below zero than above. As in ggml, the scale's sign determines the direction.
  q4_0: (bytes, scale) => eachBlock(bytes, 18, (at) => setHalf(bytes, at, signOf(bytes, at) * varied(bytes, at, scale / 4.6))),
  q5_0: (bytes, scale) => eachBlock(bytes, 22, (at) => setHalf(bytes, at, signOf(bytes, at) * varied(bytes, at, scale / 9.2))),
  q8_0(bytes, scale) {
    eachBlock(bytes, 34, (at) => {
      setHalf(bytes, at, varied(bytes, at, scale / 74));
      // ggml's quantiser never writes -128, and kernels may rely on that.
      for (let i = at + 2; i < at + 34; i++) if (bytes[i] === 128) bytes[i] = 129;
    });
  },
  // w = d * sc * q - dmin * m with q around 7.5 (15.5): minima of 7.5 (15.5) scales centre the weights.
  q4_K: (bytes, scale) => eachBlock(bytes, 144, (at) => centredScales(bytes, at, scale / 4.6, 7.5)),
  q5_K: (bytes, scale) => eachBlock(bytes, 176, (at) => centredScales(bytes, at, scale / 9.2, 15.5)),
  q6_K(bytes, scale) {
    eachBlock(bytes, 210, (at) => {
      setHalf(bytes, at + 208, varied(bytes, at + 208, scale / (18.5 * 48)));
      // Scales from 32 to 63, as from a quantiser that uses their range.
      for (let i = at + 192; i < at + 208; i++) bytes[i] = 32 + (bytes[i]! & 31);
    });
  },
};

/** Scales and minima of a q4_K or q5_K block; both are 6 bits packed alike, so equal ones come from equal bytes. */
function centredScales(bytes: Uint8Array, at: number, scale: number, centre: number): void {
  const d = varied(bytes, at, scale / 48);
  setHalf(bytes, at, d);
  setHalf(bytes, at + 2, d * centre);
  for (let j = 0; j < 4; j++) {
    const [low, high] = [32 + (bytes[at + 4 + j]! & 31), 32 + (bytes[at + 8 + j]! & 31)];
    // Groups 0-3 and the upper two bits of groups 4-7, then the latter's lower four: scale and minimum of a group are equal.
    const packed = low | ((high >> 4) << 6);
    bytes[at + 4 + j] = packed;
    bytes[at + 8 + j] = packed;
    bytes[at + 12 + j] = (high & 15) * 0x11;
  }
}

function eachBlock(bytes: Uint8Array, blockBytes: number, fill: (at: number) => void): void {
  for (let at = 0; at < bytes.length; at += blockBytes) fill(at);
}

/** `value` times a factor from 0.7 to 1.4, taken from the random byte at `at`. */
function varied(bytes: Uint8Array, at: number, value: number): number {
  return value * (0.7 + (0.7 * bytes[at]!) / 255);
}

function signOf(bytes: Uint8Array, at: number): number {
  return bytes[at + 1]! & 1 ? 1 : -1;
}

function setHalf(bytes: Uint8Array, at: number, value: number): void {
  const half = floatToHalf(value);
  bytes[at] = half & 255;
  bytes[at + 1] = half >> 8;
}
