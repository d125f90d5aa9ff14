import { nodeModule } from "../source/nodeModule.ts";
import type { Compress } from "./sha256Wasm.ts";

/** SHA-256 of bytes that arrive in pieces. Web Crypto needs all bytes at once. */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** Returns 64 lower-case hexadecimal digits. No update may follow. */
  hex(): string;
}

/** Returns Node's SHA-256, or {@link PortableSha256} elsewhere. */
export function createSha256(compress?: Compress): Sha256 {
  const crypto = nodeModule("node:crypto");
  if (crypto === undefined) return new PortableSha256(compress);
  const hash = crypto.createHash("sha256");
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest("hex") };
}

/** Returns the fastest SHA-256 for long inputs: WebAssembly outside of Node, if it may be compiled. */
export async function fastSha256(): Promise<() => Sha256> {
  const compress = nodeModule("node:crypto") === undefined ? await compiled() : undefined;
  return () => createSha256(compress);
}

async function compiled(): Promise<Compress | undefined> {
  try {
    const { compileCompress } = await import("./sha256Wasm.ts");
    return await compileCompress(roundConstants);
  } catch {
    // WebAssembly is missing or forbidden.
    return undefined;
  }
}

const blockBytes = 64;

/** The first 32 bits of the fraction of the `root`-th root of the first `n` primes. */
function fractions(n: number, root: (prime: number) => number): Int32Array {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < n; candidate++) if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  return Int32Array.from(primes, (prime) => (root(prime) % 1) * 2 ** 32);
}

/** A constant for each of the 64 rounds. */
export const roundConstants: Int32Array = fractions(64, Math.cbrt);

/** SHA-256 as FIPS 180-4 defines it, of bytes that are collected to whole blocks. */
export class PortableSha256 implements Sha256 {
  readonly #compress: Compress;
  readonly #hash = fractions(8, Math.sqrt);
  readonly #block = new Uint8Array(blockBytes);
  #filled = 0;
  #length = 0;

  constructor(compress: Compress = compressPortably) {
    this.#compress = compress;
  }

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(bytes.length, blockBytes - this.#filled);
      this.#block.set(bytes.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < blockBytes) return;
      this.#compress(this.#hash, this.#block);
    }
    const whole = bytes.length - ((bytes.length - at) % blockBytes);
    if (whole > at) this.#compress(this.#hash, bytes.subarray(at, whole));
    this.#block.set(bytes.subarray(whole));
    this.#filled = bytes.length - whole;
  }

  hex(): string {
    const bits = BigInt(this.#length) * 8n;
    const padding = new Uint8Array((this.#filled < 56 ? 56 : 120) - this.#filled + 8);
    padding[0] = 0x80;
    new DataView(padding.buffer).setBigUint64(padding.length - 8, bits);
    this.update(padding);
    return Array.from(this.#hash, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

const schedule = new Int32Array(64);

/** Words are signed: JavaScript engines compute those without conversions. */
function compressPortably(hash: Int32Array, blocks: Uint8Array): void {
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.length);
  for (let at = 0; at < blocks.length; at += blockBytes) compressBlock(hash, view, at);
}

function compressBlock(hash: Int32Array, bytes: DataView, at: number): void {
  const w = schedule;
  for (let i = 0; i < 16; i++) w[i] = bytes.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15]!;
    const y = w[i - 2]!;
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
  }
  let a = hash[0]!;
  let b = hash[1]!;
  let c = hash[2]!;
  let d = hash[3]!;
  let e = hash[4]!;
  let f = hash[5]!;
  let g = hash[6]!;
  let h = hash[7]!;
  for (let i = 0; i < 64; i++) {
    const t1 = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + roundConstants[i]! + w[i]!) | 0;
    const t2 = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (c & (a ^ b)))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  hash[0]! += a;
  hash[1]! += b;
  hash[2]! += c;
  hash[3]! += d;
  hash[4]! += e;
  hash[5]! += f;
  hash[6]! += g;
  hash[7]! += h;
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
