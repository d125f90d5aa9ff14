import { type FunctionBuilder, type FunctionRef, f32, f32x4, i32, type Local, type ModuleBuilder, type V128, v128 } from "../emit/index.ts";

/** Logits of a block: as many as a word of the mask has bits. */
export const blockLength = 32;

/** Largest distance to the greatest logit at which weights are not 0, rounded up. */
export const farthest = 20;

/** Parameters that describe a row. */
export const rowSignature = {
  logits: "i32",
  n: "i32",
  /** Address of the row's mask, or 0. */
  mask: "i32",
  /** Address of the greatest allowed logit of each block; NaN if any is NaN, -Infinity if there is none. */
  maxima: "i32",
} as const;

/** A row in the function that works on it. */
export type Row = { readonly [K in keyof typeof rowSignature]: Local<"i32"> };

/** Emits a function that writes a row's maxima and returns the greatest of them, NaN if any is NaN. */
export function emitMaxima(module: ModuleBuilder, name: string): FunctionRef<typeof rowSignature, "f32"> {
  return module.value(name, rowSignature, "f32", (f, { logits, n, mask, maxima }) => {
    const none = f32.const(Number.NEGATIVE_INFINITY);
    const [i, bits, from] = f.locals("i32", 3);
    const end = f.let(i32.add(logits, i32.shl(n, 2)));
    const [greatest, most] = [f.let(none), f.local("f32")];
    f.set(from, logits);
    f.while(i32.ltU(from, end), () => {
      f.setI32(bits, -1);
      f.if(mask, () => {
        f.set(bits, i32.load(mask));
        f.advance(mask, 4);
      });
      const isWhole = f.let(i32.and(i32.eq(bits, -1), i32.geU(i32.sub(end, from), 4 * blockLength)));
      f.if(isWhole, () => setGreatest(f, most, from));
      // One by one if logits are left out or may be NaN.
      f.if(i32.or(i32.eqz(isWhole), f32.ne(most, most)), () => {
        f.set(most, none);
        f.for(i, 0, blockLength, 1, () => {
          const at = f.let(i32.add(from, i32.shl(i, 2)));
          f.if(i32.and(i32.ltU(at, end), i32.and(i32.shrU(bits, i), 1)), () => f.set(most, f32.max(most, f32.load(at))));
        });
        f.if(f32.ne(most, most), () => f.return(most));
      });
      f.store(maxima, most);
      f.if(f32.gt(most, greatest), () => f.set(greatest, most));
      f.advance(maxima, 4);
      f.advance(from, 4 * blockLength);
    });
    return greatest;
  });
}

/** Sets `most` to the greatest logit of a block, or to NaN if the block may have NaN. Instructions that keep NaN would cost more. */
function setGreatest(f: FunctionBuilder, most: Local<"f32">, from: Local<"i32">): void {
  const loaded = Array.from({ length: blockLength / 4 }, (_, i): V128 => f.let(v128.load(from, 16 * i)));
  const all = f.let(loaded.reduce((a, b) => f32x4.pmax(a, b)));
  const sum = f.let(loaded.reduce((a, b) => f32x4.add(a, b)));
  const halves = f.let(f32x4.pmax(all, f32x4.shuffle(all, all, [2, 3, 0, 1])));
  f.set(most, f32x4.extract(f32x4.pmax(halves, f32x4.shuffle(halves, halves, [1, 0, 3, 2])), 0));
  f.if(v128.anyTrue(f32x4.ne(sum, sum)), () => f.set(most, f32.const(Number.NaN)));
}

/** Visits the candidates of a row with logits of at least `least`, which is finite, by their indices. */
export function visit(
  f: FunctionBuilder,
  { logits, n, mask, maxima }: Row,
  least: Local<"f32">,
  body: (id: Local<"i32">, logit: Local<"f32">) => void,
): void {
  const [block, id, bits, end] = f.locals("i32", 4);
  const logit = f.local("f32");
  f.for(block, 0, i32.shrU(i32.add(n, blockLength - 1), 5), 1, () => {
    f.if(f32.ge(f32.load(i32.add(maxima, i32.shl(block, 2))), least), () => {
      f.setI32(bits, -1);
      f.if(mask, () => f.set(bits, i32.load(i32.add(mask, i32.shl(block, 2)))));
      f.set(end, i32.shl(i32.add(block, 1), 5));
      f.set(end, i32.select(i32.ltU(end, n), end, n));
      f.for(id, i32.shl(block, 5), end, 1, () => {
        f.set(logit, f32.load(i32.add(logits, i32.shl(id, 2))));
        f.if(i32.and(i32.shrU(bits, i32.and(id, 31)), f32.ge(logit, least)), () => body(id, logit));
      });
    });
  });
}
