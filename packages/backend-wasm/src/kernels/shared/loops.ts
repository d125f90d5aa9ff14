import { type Expr, type FunctionBuilder, i32, type Local, type V128 } from "../../emit/index.ts";

/** Stores the first `count` lanes of a vector, all if `count` is 4 or more. */
export function storeLanes(f: FunctionBuilder, address: Local<"i32">, value: Local<"v128">, count: Expr<"i32">): void {
  f.if(
    i32.geU(count, 4),
    () => f.store(address, value),
    () => {
      f.store32Lane(address, value, 0);
      f.if(i32.gtU(count, 1), () => f.store32Lane(address, value, 1, 4));
      f.if(i32.gtU(count, 2), () => f.store32Lane(address, value, 2, 8));
    },
  );
}

/**
 * Visits `count` f32 elements, four vectors at a time and then one. `body` gets the byte offset within the step and a
 * `store` that, for the last vector, writes only the remaining elements. Advances `pointers` and counts `count` down to
 * 0.
 */
export function forEachVector(
  f: FunctionBuilder,
  count: Local<"i32">,
  pointers: readonly Local<"i32">[],
  body: (offset: number, store: (address: Local<"i32">, value: V128) => void) => void,
): void {
  f.while(i32.geU(count, 16), () => {
    for (let vector = 0; vector < 4; vector++) body(16 * vector, (address, value) => f.store(address, value, 16 * vector));
    for (const pointer of pointers) f.advance(pointer, 64);
    f.advance(count, -16);
  });
  f.while(count, () => {
    body(0, (address, value) => storeLanes(f, address, f.let(value), count));
    for (const pointer of pointers) f.advance(pointer, 16);
    f.countDown(count, 4);
  });
}
