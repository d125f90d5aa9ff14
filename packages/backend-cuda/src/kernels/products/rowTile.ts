import { elementAt } from "@centella/core/backend";
import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { RightFragment, SumFragment } from "../../ptx/matrix.ts";
import type { Shared } from "../../ptx/types.ts";
import type { Var } from "../../ptx/writer.ts";
import { type UnitFormat, unitRows } from "../../weights/unitFormat.ts";
import type { Scope } from "../shared/kernel.ts";
import type { StagedActivations, StagingPlan, SumKind } from "./activations.ts";
import { columnGroups, laneGroups, loadGroupScales } from "./groupScales.ts";
import { accumulate, type ColumnTile, halfType, sumKindsOf, sumsStaged } from "./tile.ts";
import { type Lane, type LoadedUnit, loadCodes } from "./unitDecoder.ts";

/**
 * One row of activations and weights with scales. Column n of the right matrix is the row's part in group n, so one fragment serves eight
 * groups; of each group's product one column counts, and a lane scales those of its own two groups.
 */
export class RowTile implements ColumnTile {
  readonly #scope: Scope;
  readonly #plan: StagingPlan;
  readonly #staged: StagedActivations;
  readonly #lane: Lane;
  /** Whether the lane has the columns of pair `i` of groups. */
  readonly #hasPair: readonly Bool[];
  /** One sum per row of the lane. */
  readonly sumCount = 2;

  constructor(scope: Scope, plan: StagingPlan, { staged, lane }: { readonly staged: StagedActivations; readonly lane: Lane }) {
    const { k } = scope;
    this.#scope = scope;
    this.#plan = plan;
    this.#staged = staged;
    this.#lane = lane;
    this.#hasPair = [0, 1, 2, 3].map((pair) => k.compare("eq", lane.part, pair));
  }

  load(format: UnitFormat, unit: Shared<"u32">): LoadedUnit {
    const { k } = this.#scope;
    return { ...loadCodes(k, format, unit, this.#lane), ...loadGroupScales(k, format, unit, this.#lane) };
  }

  multiply(format: UnitFormat, loaded: LoadedUnit, unit: U32, sums: readonly Var<"f32">[]): void {
    const { k } = this.#scope;
    const { offset, total } = sumKindsOf(format);
    const halves = format.width / format.groupSize / columnGroups;
    const scaled: (F32 | undefined)[] = [undefined, undefined];
    const lowered: (F32 | undefined)[] = [undefined, undefined];
    for (let half = 0; half < halves; half++) {
      const kept = this.#products(format, loaded, { unit, half, offsets: this.#sums(offset, { unit, half, halves }) });
      const totals = total === undefined ? undefined : this.#sums(total, { unit, half, halves });
      for (let group = 0; group < laneGroups; group++) {
        const scale = loaded.scale(laneGroups * half + group);
        const minimum = loaded.minimum?.(laneGroups * half + group);
        for (const row of [0, 1] as const) {
          scaled[row] = accumulate(k, scaled[row], scale[row], elementAt(kept, 2 * row + group));
          if (minimum !== undefined && totals !== undefined)
            lowered[row] = accumulate(k, lowered[row], minimum[row], elementAt(totals, group));
        }
      }
    }
    for (const row of [0, 1] as const) {
      const sum = elementAt(sums, row);
      for (const [part, steps] of [
        [scaled[row], loaded.steps?.scale],
        [lowered[row], loaded.steps?.minimum],
      ] as const) {
        if (part !== undefined) sum.set(steps === undefined ? k.add(sum.get(), part) : k.fma(steps[row], part, sum.get()));
      }
    }
  }

  /** Products of eight groups: those of rows g and g + 8 with the lane's groups. */
  #products(
    format: UnitFormat,
    loaded: LoadedUnit,
    { unit, half, offsets }: { readonly unit: U32; readonly half: number; readonly offsets: readonly F32[] },
  ): readonly F32[] {
    const { k } = this.#scope;
    const { groupSize } = format;
    const right = this.#right(groupSize, unit, half);
    const chunks = groupSize / 16;
    const zero = k.constant("f32", 0);
    let kept: readonly F32[] = [];
    const productOf = (group: number): SumFragment => {
      let sum: SumFragment = [zero, zero, zero, zero];
      for (let chunk = 0; chunk < chunks; chunk++) {
        const left = loaded.fragment(chunks * (columnGroups * half + group) + chunk);
        sum = k.multiplyMatrices(halfType(format), left, elementAt(right, chunk), sum);
      }
      return sum;
    };
    for (const [pair, hasPair] of this.#hasPair.entries()) {
      const [first, second] = [productOf(2 * pair), productOf(2 * pair + 1)];
      const own = [first[0], second[1], first[2], second[3]];
      kept = pair === 0 ? own : kept.map((old, i) => k.select(hasPair, elementAt(own, i), old));
    }
    // Products that start with the offsets in place of zeros take copies of them: they overwrite the registers of their summands.
    return kept.map((value, i) => k.add(value, elementAt(offsets, i % laneGroups)));
  }

  /** The row's part in eight groups, chunk by chunk. */
  #right(groupSize: 16 | 32, unit: U32, half: number): readonly RightFragment[] {
    const { k } = this.#scope;
    const { lane, row, part } = this.#lane;
    const rows = this.#staged.rows;
    if (groupSize === 32) {
      const [b0, b1, b2, b3] = k.ldVector("u32", k.sharedAtBytes(rows, k.mad(unit, 512, k.shiftLeft(lane, 4)))) as [U32, U32, U32, U32];
      return [
        [b0, b1],
        [b2, b3],
      ] as const;
    }
    // Two groups of 16 share the 64 bytes of 32 activations.
    const own = k.mad(k.shiftRight(row, 1), 64, k.mad(k.and(row, 1), 8, k.shiftLeft(part, 4)));
    const [b0, b1] = k.ldVector("u32", k.sharedAtBytes(rows, k.mad(unit, 512, own)), 64 * half, 2) as [U32, U32];
    return [[b0, b1]];
  }

  /** The staged sums of the lane's groups. */
  #sums(
    kind: SumKind | undefined,
    { unit, half, halves }: { readonly unit: U32; readonly half: number; readonly halves: number },
  ): readonly F32[] {
    const { k } = this.#scope;
    const from = sumsStaged(this.#staged, this.#plan, kind);
    const own = k.mad(unit, halves * columnGroups, k.shiftLeft(this.#lane.part, 1));
    return k.ldVector("f32", k.sharedAt("f32", from, own), columnGroups * half, laneGroups);
  }

  store(to: Shared<"f32">, sums: readonly Var<"f32">[]): void {
    const { k } = this.#scope;
    const totals = sums.map((sum) => [1, 2].reduce((value, mask) => k.add(value, k.shuffleXor(value, mask)), sum.get()));
    k.if(k.compare("eq", this.#lane.part, 0), () => {
      const own = k.sharedAt("f32", to, this.#lane.row);
      for (const [i, total] of totals.entries()) k.st("f32", own, total, (i * unitRows) / 2);
    });
  }
}
