import { elementAt } from "@centella/core/backend";
import type { F32, U32 } from "@centella/gpu-kernels";
import type { LeftFragment, SumFragment } from "../../ptx/matrix.ts";
import { halfScale } from "../shared/halfScale.ts";
import type { Scope } from "../shared/kernel.ts";
import type { Piece } from "./pieces.ts";
import type { AttentionSizes } from "./problem.ts";
import type { QueryRow } from "./softmax.ts";

/** The lane's rows of queries as left matrices, and what the products with each row are multiplied by. A second row that is not given is zeros. */
export function loadQueries(
  scope: Scope,
  sizes: AttentionSizes,
  rows: readonly QueryRow[],
  pieces: readonly Piece[],
  part: U32,
): { readonly fragments: readonly LeftFragment[]; readonly inverses: readonly F32[] } {
  const loaded = rows.map((row) => loadQuery(scope, sizes, row, pieces, part));
  const [first, second = first.map(() => scope.k.constant("u32", 0))] = loaded.map(({ words }) => words) as [
    readonly U32[],
    (readonly U32[])?,
  ];
  const fragments = Array.from(
    { length: first.length / 2 },
    (_, i): LeftFragment => [elementAt(first, 2 * i), elementAt(second, 2 * i), elementAt(first, 2 * i + 1), elementAt(second, 2 * i + 1)],
  );
  return { fragments, inverses: loaded.map(({ inverse }) => inverse) };
}

/** Weights of columns, eight after eight, as left matrices whose depth the columns are. */
export function leftFragments(k: Scope["k"], weights: readonly SumFragment[]): readonly LeftFragment[] {
  const words = weights.map(([a, b, c, d]) => [k.roundPair("f16", a, b), k.roundPair("f16", c, d)] as const);
  return Array.from({ length: words.length / 2 }, (_, i) => [...elementAt(words, 2 * i), ...elementAt(words, 2 * i + 1)]);
}

/** A row's pieces, rounded to f16 after they are multiplied by a power of two, and its inverse. */
function loadQuery(
  { k }: Scope,
  { heads, keyWidth }: AttentionSizes,
  { token, head }: QueryRow,
  pieces: readonly Piece[],
  part: U32,
): { readonly words: readonly U32[]; readonly inverse: F32 } {
  const row = k.mul(k.mad(token, heads, head), keyWidth);
  const values = pieces.flatMap(({ first, stride, count }) => {
    const from = k.at("f32", k.pointer("q", "f32"), k.mad(part, stride, row));
    return count === 2
      ? k.ldVector("f32", from, first, 2)
      : Array.from({ length: count / 4 }, (_, i) => k.ldVector("f32", from, first + 4 * i)).flat();
  });
  const own = values.map((value) => k.abs(value)).reduce((a, b) => k.max(a, b));
  const withNext = k.max(own, k.shuffleXor(own, 1));
  const largest = k.max(withNext, k.shuffleXor(withNext, 2));
  const { factor, inverse } = halfScale(k, largest);
  const scaled = values.map((value) => k.mul(value, factor));
  const words = Array.from({ length: scaled.length / 2 }, (_, i) =>
    k.roundPair("f16", elementAt(scaled, 2 * i), elementAt(scaled, 2 * i + 1)),
  );
  return { words, inverse };
}
