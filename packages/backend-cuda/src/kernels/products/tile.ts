import { elementAt } from "@centella/core/backend";
import type { F32, U32 } from "@centella/gpu-kernels";
import type { HalfType, SumFragment } from "../../ptx/matrix.ts";
import type { Shared } from "../../ptx/types.ts";
import type { Var } from "../../ptx/writer.ts";
import { isPlain, type UnitFormat, unitRows } from "../../weights/unitFormat.ts";
import type { Scope } from "../shared/kernel.ts";
import { rowBytes, type StagedActivations, type StagingPlan, type SumKind } from "./activations.ts";
import { codeOffsets, type Lane, type LoadedUnit, loadUnit, missing } from "./unitDecoder.ts";

/** Rows of activations that one matrix product takes. */
export const tileColumns = 8;

/** The type that a format's weights are multiplied in. */
export function halfType({ dtype }: UnitFormat): HalfType {
  return dtype === "bf16" ? "bf16" : "f16";
}

/** The sums of activations that make up for a format's offsets, and those that its minima are multiplied with. */
export function sumKindsOf(format: UnitFormat): { readonly offset: SumKind | undefined; readonly total: SumKind | undefined } {
  const { scales, groupSize } = format;
  if (isPlain(format)) return { offset: undefined, total: undefined };
  const { low, high } = codeOffsets(format);
  const hasMinima = scales.kind === "nibbles" || scales.kind === "sixBits" || (scales.kind === "halves" && scales.m !== undefined);
  return { offset: { groupSize, low: -low, high: -high }, total: hasMinima ? { groupSize, low: 1, high: 1 } : undefined };
}

/** All sums that formats need. */
export function sumsOf(formats: readonly UnitFormat[]): readonly SumKind[] {
  const kinds = formats.flatMap((format) => Object.values(sumKindsOf(format))).filter((kind) => kind !== undefined);
  return [...new Map(kinds.map((kind) => [keyOf(kind), kind])).values()];
}

function keyOf({ groupSize, low, high }: SumKind): string {
  return `${groupSize} ${low} ${high}`;
}

/** The memory of the staged sums of a kind. */
export function sumsStaged(staged: StagedActivations, plan: StagingPlan, kind: SumKind | undefined): Shared<"f32"> {
  const from = kind && staged.sums[plan.sums.findIndex((each) => keyOf(each) === keyOf(kind))];
  return from ?? missing("a sum of activations");
}

/** Rows of activations that are multiplied together, and the sums that a lane keeps of their products with a segment. */
export interface ColumnTile {
  /** Sums of a lane. */
  readonly sumCount: number;
  /** Reads a lane's part of the unit at `unit`. Tiles of a launch read the same. */
  load(format: UnitFormat, unit: Shared<"u32">): LoadedUnit;
  /** Adds a unit's products to the sums. `unit` is its number in the segment. */
  multiply(format: UnitFormat, loaded: LoadedUnit, unit: U32, sums: readonly Var<"f32">[]): void;
  /** Stores the results of the tile: 16 rows of weights, column after column. */
  store(to: Shared<"f32">, sums: readonly Var<"f32">[]): void;
}

/** Up to eight rows of activations: the columns of a matrix product. One row is for weights without scales. */
export class Tile implements ColumnTile {
  readonly #scope: Scope;
  readonly #plan: StagingPlan;
  readonly #staged: StagedActivations;
  readonly #lane: Lane;
  /** The lane's part of the row that is its column of the right matrix. */
  readonly #row: Shared<"u32">;
  /** The first of the two columns of the lane's results. */
  readonly #column: U32;
  /** Elements of a matrix product that are results. */
  readonly #kept: readonly (0 | 1 | 2 | 3)[];

  constructor(
    { k, ...scope }: Scope,
    plan: StagingPlan,
    { staged, lane }: { readonly staged: StagedActivations; readonly lane: Lane },
    number: number,
  ) {
    this.#scope = { k, ...scope };
    this.#plan = plan;
    this.#staged = staged;
    this.#lane = lane;
    const { columns } = plan;
    const first = number * tileColumns;
    this.#kept = columns === 1 ? [0, 2] : [0, 1, 2, 3];
    const part = k.shiftLeft(lane.part, 4);
    // Columns past the last one repeat it.
    const column = k.min(k.add(lane.row, first), columns - 1);
    this.#row = k.sharedAtBytes(staged.rows, columns === 1 ? part : k.mad(column, rowBytes(plan), part));
    this.#column = k.add(k.shiftLeft(lane.part, 1), first);
  }

  get sumCount(): number {
    return this.#kept.length;
  }

  load(format: UnitFormat, unit: Shared<"u32">): LoadedUnit {
    return loadUnit(this.#scope.k, format, unit, this.#lane);
  }

  multiply(format: UnitFormat, loaded: LoadedUnit, unit: U32, sums: readonly Var<"f32">[]): void {
    const { k } = this.#scope;
    const { width, groupSize } = format;
    const type = halfType(format);
    const { offset, total } = sumKindsOf(format);
    const offsets = this.#sums(offset, format, unit);
    const totals = this.#sums(total, format, unit);
    const row = k.sharedAtBytes<"u32">(this.#row, k.mul(unit, 2 * width));
    const scaled: (F32 | undefined)[] = sums.map(() => undefined);
    const lowered: (F32 | undefined)[] = sums.map(() => undefined);
    let plain: SumFragment | undefined;
    const addGroup = (group: number, products: SumFragment): void => {
      const [scale, minimum] = [loaded.scale(group), loaded.minimum?.(group)];
      for (const [i, element] of this.#kept.entries()) {
        const high = element >> 1;
        scaled[i] = accumulate(k, scaled[i], elementAt(scale, high), products[element]);
        if (minimum !== undefined) lowered[i] = accumulate(k, lowered[i], elementAt(minimum, high), totals(group)[element]);
      }
    };
    for (let pair = 0; pair < width / 32; pair++) {
      const [b0, b1, b2, b3] = k.ldVector("u32", row, 16 * pair) as [U32, U32, U32, U32];
      const [first, second] = [loaded.fragment(2 * pair), loaded.fragment(2 * pair + 1)];
      if (isPlain(format)) {
        plain ??= this.#fragment(sums);
        plain = k.multiplyMatrices(type, first, [b0, b1], plain);
        plain = k.multiplyMatrices(type, second, [b2, b3], plain);
      } else if (groupSize === 32) {
        const half = k.multiplyMatrices(type, first, [b0, b1], offsets(pair));
        addGroup(pair, k.multiplyMatrices(type, second, [b2, b3], half));
      } else {
        addGroup(2 * pair, k.multiplyMatrices(type, first, [b0, b1], offsets(2 * pair)));
        addGroup(2 * pair + 1, k.multiplyMatrices(type, second, [b2, b3], offsets(2 * pair + 1)));
      }
    }
    for (const [i, element] of this.#kept.entries()) {
      const sum = elementAt(sums, i);
      if (plain !== undefined) sum.set(plain[element]);
      for (const [part, steps] of [
        [scaled[i], loaded.steps?.scale],
        [lowered[i], loaded.steps?.minimum],
      ] as const) {
        if (part === undefined) continue;
        sum.set(steps === undefined ? k.add(sum.get(), part) : k.fma(elementAt(steps, element >> 1), part, sum.get()));
      }
    }
  }

  /** The sums as a fragment. With one column, the other elements are not results. */
  #fragment(sums: readonly Var<"f32">[]): SumFragment {
    const values = sums.map((sum) => sum.get());
    const at = (element: number): F32 => elementAt(values, this.#kept.length === 2 ? element >> 1 : element);
    return [at(0), at(1), at(2), at(3)];
  }

  /** The staged sums of a unit's groups, as fragments with the same number in both rows. */
  #sums(kind: SumKind | undefined, { width }: UnitFormat, unit: U32): (group: number) => SumFragment {
    const { k } = this.#scope;
    const { columns } = this.#plan;
    if (kind === undefined) return () => missing("a sum of activations");
    const from = sumsStaged(this.#staged, this.#plan, kind);
    const groups = width / kind.groupSize;
    const start = k.sharedAt("f32", from, k.mul(unit, groups * columns));
    const own = k.sharedAt("f32", start, k.min(this.#column, columns - 2));
    const pairs = Array.from({ length: groups }, (_, group) => k.ldVector("f32", own, group * columns, 2));
    return (group) => {
      const [a, b] = elementAt(pairs, group) as [F32, F32];
      return [a, b, a, b];
    };
  }

  store(to: Shared<"f32">, sums: readonly Var<"f32">[]): void {
    const { k } = this.#scope;
    const { columns } = this.#plan;
    k.if(k.compare("lt", this.#column, columns), () => {
      const own = k.sharedAt("f32", to, k.mad(this.#column, unitRows, this.#lane.row));
      for (const [i, element] of this.#kept.entries())
        k.st("f32", own, elementAt(sums, i).get(), (element & 1) * unitRows + (element >> 1) * (unitRows / 2));
    });
  }
}

export function accumulate(k: Scope["k"], sum: F32 | undefined, a: F32, b: F32): F32 {
  return sum === undefined ? k.mul(a, b) : k.fma(a, b, sum);
}
