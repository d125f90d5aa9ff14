import { elementAt } from "@centella/core/backend";
import type { F32, U32 } from "@centella/gpu-kernels";
import type { LeftFragment, RightFragment, SumFragment } from "../../ptx/matrix.ts";
import type { Var } from "../../ptx/writer.ts";
import type { Lane } from "../products/unitDecoder.ts";
import type { Scope } from "../shared/kernel.ts";
import type { Piece } from "./pieces.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, attentionInputs } from "./problem.ts";
import { leftFragments, loadQueries } from "./queries.ts";
import { type QueryRow, RowSoftmaxes, type ScoredPositions } from "./softmax.ts";

/** Whether texts with query tiles are compiled as whole programs: as parts of larger ones, those for sm_80 and those for q8_0 spill registers. */
export function hasWholeTexts(call: AttentionCall): boolean {
  return call.gpu.target === "sm_80" || attentionInputs(call).cache.dtype === "q8_0";
}

interface TileForm {
  readonly params: AttentionParams;
  readonly sizes: AttentionSizes;
  /** See {@link RowSoftmaxes}. */
  readonly rangeThreads?: number;
}

/** Sixteen rows of queries, or eight, with their softmaxes and outputs, which the lanes of a warp share. */
export class QueryTile {
  readonly #scope: Scope;
  readonly #lane: Lane;
  readonly #valuePieces: readonly Piece[];
  readonly #query: readonly LeftFragment[];
  readonly #softmaxes: RowSoftmaxes;
  /** Per piece of a value and element of it, two sums of each row of the lane. */
  readonly #outputs: readonly (readonly (readonly Var<"f32">[])[])[];
  #weights: readonly LeftFragment[] = [];

  /** `rows`: the rows of the lane, `lane.row` and, where there are more than eight, `lane.row + 8`. */
  constructor(
    scope: Scope,
    { params, sizes, rangeThreads = 0 }: TileForm,
    { lane, rows }: { readonly lane: Lane; readonly rows: readonly QueryRow[] },
    pieces: { readonly keys: readonly Piece[]; readonly values: readonly Piece[] },
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#lane = lane;
    this.#valuePieces = pieces.values;
    const { fragments, inverses } = loadQueries(scope, sizes, rows, pieces.keys, lane.part);
    this.#query = fragments;
    this.#softmaxes = new RowSoftmaxes(scope, { params, sizes }, lane.part, { rowCount: rows.length === 1 ? 1 : 2, rangeThreads });
    const seen = ({ low, high }: QueryRow): U32 => k.sub(k.max(high, low), low);
    this.#softmaxes.start(rows.map((row, i) => ({ ...row, seen: seen(row), inverse: elementAt(inverses, i) })));
    this.#outputs = pieces.values.map(({ count }) =>
      Array.from({ length: count }, () => Array.from({ length: 2 * rows.length }, () => k.variable("f32", 0))),
    );
  }

  /** Adds the products of the queries with a part of eight keys: product `step` of those of a key. */
  multiplyKeys(step: number, keys: RightFragment, sum: SumFragment): SumFragment {
    return this.#scope.k.multiplyMatrices("f16", elementAt(this.#query, step), keys, sum);
  }

  /** Turns the products with the keys of `positions`, eight after eight, into weights. */
  weigh(products: readonly SumFragment[], positions: ScoredPositions): void {
    const { k } = this.#scope;
    const weights = this.#softmaxes.weigh(products, positions, (r, factor) => {
      for (const sums of this.#outputs.flat()) for (const sum of sums.slice(2 * r, 2 * r + 2)) sum.set(k.mul(sum.get(), factor));
    });
    this.#weights = leftFragments(k, weights);
  }

  /** Adds a piece of 16 values, step `step` of those that were weighed, to the outputs. */
  addValues(step: number, piece: number, values: readonly RightFragment[]): void {
    const { k } = this.#scope;
    for (const [i, value] of values.entries()) {
      const sums = elementAt(elementAt(this.#outputs, piece), i);
      const zero = k.constant("f32", 0);
      const [a, b, c = zero, d = zero] = sums.map((sum) => sum.get()) as [F32, F32, F32?, F32?];
      const added = k.multiplyMatrices("f16", elementAt(this.#weights, step), value, [a, b, c, d]);
      for (const [j, sum] of sums.entries()) sum.set(elementAt(added, j));
    }
  }

  /** Rows of the lane. */
  get rowCount(): number {
    return this.#softmaxes.rowCount;
  }

  /** The maximum and the sum of weights of the lane's row `r`. All lanes of the warp must take part. */
  finish(r: number): { readonly maximum: F32; readonly total: F32 } {
    return this.#softmaxes.finish(r);
  }

  /** The lane's outputs of its row `r`: neighbours from element `first` on, relative to the maximum. */
  outputs(r: number): readonly { readonly first: U32; readonly values: readonly F32[] }[] {
    const { k } = this.#scope;
    return this.#valuePieces.flatMap(({ first, count }, piece) =>
      [0, 1].map((column) => ({
        first: k.mad(this.#lane.part, 2 * count, k.constant("u32", first + column * count)),
        values: elementAt(this.#outputs, piece).map((sums) => elementAt(sums, 2 * r + column).get()),
      })),
    );
  }
}
