import { type Expr, type FunctionBuilder, f32x4, i8x16, i16x8, i32, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { memoryMap } from "../memory/memoryMap.ts";
import type { Target } from "../target.ts";

/** Emits the decoding of a block: reads fields by their offsets, and writes values in runs of 16. */
export class Block {
  readonly f: FunctionBuilder;
  readonly target: Target;
  /** Address of the type's codebook. */
  readonly grid: Local<"i32">;
  readonly #from: Local<"i32">;
  readonly #to: Local<"i32">;

  constructor(f: FunctionBuilder, target: Target, { from, to, grid }: Record<"from" | "to" | "grid", Local<"i32">>) {
    this.f = f;
    this.target = target;
    this.grid = grid;
    this.#from = from;
    this.#to = to;
  }

  byte(at: number): Expr<"i32"> {
    return i32.load8U(this.#from, at);
  }

  signedByte(at: number): Expr<"i32"> {
    return i32.load8S(this.#from, at);
  }

  short(at: number): Expr<"i32"> {
    return i32.load16U(this.#from, at);
  }

  word(at: number): Expr<"i32"> {
    return i32.load(this.#from, at);
  }

  /** Loads 16 bytes. */
  bytes(at: number): Local<"v128"> {
    return this.f.let(v128.load(this.#from, at));
  }

  /** Loads 4 bytes to each lane. */
  splat(at: number): Local<"v128"> {
    return this.f.let(v128.load32Splat(this.#from, at));
  }

  /** Loads 8 bytes, followed by zeros. */
  eight(at: number): Local<"v128"> {
    return this.f.let(v128.load64Zero(this.#from, at));
  }

  /** The f16 at `at` as f32 in all lanes. */
  half(at: number): Local<"v128"> {
    return this.halfOf(this.short(at));
  }

  /** The f16 with these bits as f32 in all lanes. */
  halfOf(bits: Expr<"i32">): Local<"v128"> {
    return this.f.let(v128.load32Splat(i32.shl(bits, 2), memoryMap.halfTable));
  }

  /** `scale * n` in all lanes. */
  times(scale: V128, n: Expr<"i32">): Local<"v128"> {
    return this.f.let(f32x4.mul(scale, f32x4.fromI32x4(i32x4.splat(n))));
  }

  /** 0xff in each of 16 bytes whose bit of `bits` is set, 0 in the others. */
  mask(bits: Expr<"i32">): Local<"v128"> {
    const { f } = this;
    const spread = i8x16.shuffle(i16x8.splat(bits), v128.zero(), [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    const places = f.pooled(Uint8Array.of(1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128));
    return f.let(i8x16.eq(v128.and(spread, places), places));
  }

  /**
   * Writes values from `16 * run` of the block: `codes * step`, 16 signed bytes times f32, minus `minimum`. The
   * products are exact, so values are rounded once, as in ggml.
   */
  write(run: number, codes: V128, step: V128, minimum?: V128): void {
    const { f } = this;
    const bytes = f.let(codes);
    const halves = [f.let(i16x8.extendLowS(bytes)), f.let(i16x8.extendHighS(bytes))];
    const words = halves.flatMap((half) => [i32x4.extendLowS(half), i32x4.extendHighS(half)]);
    for (const [i, word] of words.entries()) {
      const product = f32x4.mul(f32x4.fromI32x4(word), step);
      f.store(this.#to, minimum === undefined ? product : f32x4.sub(product, minimum), 64 * run + 16 * i);
    }
  }
}
