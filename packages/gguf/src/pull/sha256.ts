import { nodeModule } from "../source/nodeModule.ts";
/** SHA-256 of bytes that arrive in pieces. Web Crypto needs all bytes at once. */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** Returns 64 lower-case hexadecimal digits. No update may follow. */
  hex(): string;
}

/** Returns Node's SHA-256, or {@link PortableSha256} elsewhere. */
export function createSha256(): Sha256 {
  const crypto = nodeModule("node:crypto");
  if (crypto === undefined) return new PortableSha256();
  const hash = crypto.createHash("sha256");
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest("hex") };
}

const blockBytes = 64;

/** The first 32 bits of the fraction of the `root`-th root of the first `n` primes. */
function fractions(n: number, root: (prime: number) => number): Int32Array {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < n; candidate++) if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  return Int32Array.from(primes, (prime) => (root(prime) % 1) * 2 ** 32);
}

const roundConstants = fractions(64, Math.cbrt);

/** SHA-256 as FIPS 180-4 defines it. Words are signed: JavaScript engines compute those without conversions. */
export class PortableSha256 implements Sha256 {
  readonly #state = fractions(8, Math.sqrt);
  readonly #schedule = new Int32Array(64);
  readonly #block = new Uint8Array(blockBytes);
  #filled = 0;
  #length = 0;

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(bytes.length, blockBytes - this.#filled);
      this.#block.set(bytes.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < blockBytes) return;
      this.#compress(new DataView(this.#block.buffer), 0);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (; at + blockBytes <= bytes.length; at += blockBytes) this.#compress(view, at);
    this.#block.set(bytes.subarray(at));
    this.#filled = bytes.length - at;
  }

  hex(): string {
    const bits = BigInt(this.#length) * 8n;
    const padding = new Uint8Array((this.#filled < 56 ? 56 : 120) - this.#filled + 8);
    padding[0] = 0x80;
    new DataView(padding.buffer).setBigUint64(padding.length - 8, bits);
    this.update(padding);
    return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  #compress(bytes: DataView, at: number): void {
    const w = this.#schedule;
    for (let i = 0; i < 16; i++) w[i] = bytes.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15]!;
      const y = w[i - 2]!;
      const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
      const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
      w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
    }
    const state = this.#state;
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    let e = state[4]!;
    let f = state[5]!;
    let g = state[6]!;
    let h = state[7]!;
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
    state[0]! += a;
    state[1]! += b;
    state[2]! += c;
    state[3]! += d;
    state[4]! += e;
    state[5]! += f;
    state[6]! += g;
    state[7]! += h;
  }
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
