import { type FunctionBuilder, i32, type Local } from "../../emit/index.ts";

type Pointers<N extends string> = Readonly<Record<N, Local<"i32">>>;

/**
 * Sets `source` to the address of the values `distance` tokens before token `t`: in the call, in the state, or 0 before
 * position 0. `within` starts at 0 and counts the tokens of the sequence before `t` that are in the call, up to the
 * largest distance so far.
 */
export function emitSource(
  f: FunctionBuilder,
  {
    x,
    state,
    positions,
    rows,
    rowBytes,
    kept,
    states,
    t,
    distance,
    within,
    source,
  }: Pointers<"x" | "state" | "positions" | "rows" | "rowBytes" | "kept" | "states" | "t" | "distance" | "within" | "source">,
): void {
  const row = f.let(i32.load(i32.add(rows, i32.shl(t, 2))));
  countWithin(f, { rows, t, distance, within, row });
  f.setI32(source, 0);
  f.if(i32.leS(distance, i32.load(i32.add(positions, i32.shl(t, 2)))), () => {
    f.if(
      i32.geS(within, distance),
      () => f.set(source, i32.add(x, i32.mul(i32.sub(t, distance), rowBytes))),
      () =>
        f.if(i32.ltU(row, states), () => {
          const slot = i32.add(i32.mul(row, kept), i32.sub(i32.add(kept, within), distance));
          f.set(source, i32.add(state, i32.mul(slot, rowBytes)));
        }),
    );
  });
}

/** Advances `within` towards `distance` while earlier tokens have the same row. */
function countWithin(f: FunctionBuilder, { rows, t, distance, within, row }: Pointers<"rows" | "t" | "distance" | "within" | "row">): void {
  f.block((exit) => {
    f.loop((again) => {
      f.brIf(exit, i32.geS(within, distance));
      f.brIf(exit, i32.geS(within, t));
      const before = i32.sub(i32.sub(t, within), 1);
      f.brIf(exit, i32.ne(i32.load(i32.add(rows, i32.shl(before, 2))), row));
      f.advance(within, 1);
      f.br(again);
    });
  });
}
