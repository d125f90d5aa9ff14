import { elementAt } from "@centella/core/backend";
import type { Bool, U32 } from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import { lanes } from "../shared/gpu.ts";
import type { Scope } from "../shared/kernel.ts";
import { type CacheHead, CacheRows, type Piece } from "./pieces.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, attentionInputs } from "./problem.ts";
import { slotOf, storedSlot } from "./slots.ts";

/** Stages of a block: one that is read, and those whose copies are under way. */
const stageCount = 3;

/** Elements of a piece that a thread brings at once. */
const pieceElements = 8;

/**
 * Bytes between the ends of rows and the starts of the next ones. With rows of a multiple of 32 bytes, the lanes that read together meet no
 * bank twice, in eight rows of keys or of values.
 */
const gap = 16;

/** Bytes from row to row. */
function pitchOf({ keyWidth, valueWidth }: AttentionSizes): number {
  return 2 * (keyWidth + valueWidth) + gap;
}

/** Shared memory of the stages, with `positions` each. */
export function stagedBytes(sizes: AttentionSizes, positions: number): number {
  return stageCount * positions * (pitchOf(sizes) + 4);
}

interface StageForm {
  readonly params: AttentionParams;
  readonly sizes: AttentionSizes;
  readonly warps: number;
  /** Positions of a stage. */
  readonly positions: number;
  /** Whether the second half of a stage's loads starts after the first half is stored: lanes have no registers for all. */
  readonly isTight: boolean;
}

interface StageSource extends CacheHead {
  /** Index of the sequence's first entry in the block table. */
  readonly tableRow: U32;
  /** End of the positions that are seen. Later ones are copies of the last one of them. */
  readonly high: U32;
}

/** Keys and values of a sequence in shared memory as f16, some positions at a time. */
export class KeyStages {
  readonly #scope: Scope;
  readonly #call: AttentionCall;
  readonly #form: StageForm;
  readonly #source: StageSource;
  readonly #rows: CacheRows;
  readonly #memory: Shared<"u32">;
  /** Per stage and position, 1 if the position is in the cache. */
  readonly #stored: Shared<"u32">;
  /** Bytes from row to row. */
  readonly #pitch: number;

  constructor(scope: Scope, call: AttentionCall, form: StageForm, source: StageSource) {
    const { k } = scope;
    const { sizes, positions } = form;
    this.#scope = scope;
    this.#call = call;
    this.#form = form;
    this.#source = source;
    this.#rows = new CacheRows(scope, attentionInputs(call).cache.dtype, sizes, source);
    this.#pitch = pitchOf(sizes);
    this.#memory = k.sharedMemory("u32", (stageCount * positions * this.#pitch) / 4, 128);
    this.#stored = k.sharedMemory("u32", stageCount * positions);
  }

  /** Runs `body` with each stage of positions from `first` on, and the stage's first position. */
  forEach(first: U32, body: (stage: U32, first: U32) => void): void {
    const { k } = this.#scope;
    const { high } = this.#source;
    const { positions } = this.#form;
    const next = k.variable("u32", first);
    const nextStage = k.variable("u32", 0);
    const fill = (): void => {
      k.ifUniform(k.compare("lt", next.get(), high), () => this.#fill(nextStage.get(), next.get()));
      k.commitCopies();
      next.set(k.add(next.get(), positions));
      const after = k.add(nextStage.get(), 1);
      nextStage.set(k.select(k.compare("eq", after, stageCount), k.constant("u32", 0), after));
    };
    for (let i = 1; i < stageCount; i++) fill();
    const stage = k.variable("u32", 0);
    k.forUniform(first, high, positions, (now) => {
      k.waitCopies(stageCount - 2);
      // All have read the stage that is filled next.
      k.sync();
      fill();
      body(stage.get(), now);
      const after = k.add(stage.get(), 1);
      stage.set(k.select(k.compare("eq", after, stageCount), k.constant("u32", 0), after));
    });
  }

  /** Starts the copies of a stage. */
  #fill(stage: U32, first: U32): void {
    const { k } = this.#scope;
    const { params, sizes, warps, positions, isTight } = this.#form;
    const { tableRow, high, valueFirst } = this.#source;
    const keyPieces = sizes.keyWidth / pieceElements;
    const rowPieces = (sizes.keyWidth + sizes.valueWidth) / pieceElements;
    const threads = warps * lanes;
    const all = positions * rowPieces;
    const last = k.sub(high, 1);
    const slots = elementAt(attentionInputs(this.#call).cache.shape, 0);
    const half = threads * Math.ceil(all / threads / 2);
    for (let done = 0; done < all; done += threads) {
      if (isTight && done === half) k.syncWarp();
      const index = k.add(k.thread(), done);
      const copy = (): void => {
        const row = k.quotient(index, rowPieces);
        const piece = k.remainder(index, rowPieces);
        const found = slotOf(this.#scope, params.blockSize, tableRow, k.min(k.add(first, row), last));
        const { isStored, slot } = storedSlot(this.#scope, found, this.#scope.extent(slots));
        k.if(k.compare("eq", piece, 0), () => {
          k.st("u32", this.#storedAt(stage, row), k.select(isStored, k.constant("u32", 1), 0));
        });
        const to = k.sharedAtBytes<"u32">(this.#rowAt(stage, row), k.mul(piece, 2 * pieceElements));
        const later =
          valueFirst && k.select(k.compare("lt", piece, keyPieces), k.constant("u32", 0), k.quotient(valueFirst, pieceElements));
        const from = later === undefined ? piece : k.add(piece, later);
        if (this.#rows.areHalves) k.copyPiece(to, this.#rows.at(slot, k.mul(from, pieceElements)));
        else k.stVector("u32", to, elementAt(this.#rows.read(slot, 0, [{ first: 0, stride: pieceElements, count: 8 }], from), 0));
      };
      if (done + threads <= all) copy();
      else k.if(k.compare("lt", index, all), copy);
    }
  }

  /** Reads pieces of a position's row, `from` elements after its start. `index` is the lane's part or row. */
  read(stage: U32, position: U32, from: number, pieces: readonly Piece[], index: U32): readonly (readonly U32[])[] {
    const { k } = this.#scope;
    const row = this.#rowAt(stage, position);
    const starts = new Map<number, Shared<"u32">>();
    return pieces.map(({ first, stride, count }) => {
      const start = starts.get(stride) ?? k.sharedAtBytes<"u32">(row, k.mul(index, 2 * stride));
      starts.set(stride, start);
      const at = (from + first) / 2;
      return count === 2 ? [k.ld("u32", start, at)] : k.ldVector("u32", start, at, count === 8 ? 4 : 2);
    });
  }

  /** Whether a position of the stage is in the cache. */
  isStored(stage: U32, position: U32): Bool {
    const { k } = this.#scope;
    return k.compare("ne", k.ld("u32", this.#storedAt(stage, position)), 0);
  }

  /** Whether a position of the stage is not in the cache. All lanes of the warp must take part. */
  lacksAny(stage: U32, lane: U32): Bool {
    const { k } = this.#scope;
    const count = this.#form.positions / lanes;
    const stored = Array.from({ length: count }, (_, i) => k.ld("u32", this.#storedAt(stage, lane), i * lanes));
    return k.anyLane(
      k.compare(
        "eq",
        stored.reduce((a, b) => k.and(a, b)),
        0,
      ),
    );
  }

  #rowAt(stage: U32, position: U32): Shared<"u32"> {
    const { k } = this.#scope;
    return k.sharedAtBytes(this.#memory, k.mul(k.mad(stage, this.#form.positions, position), this.#pitch));
  }

  #storedAt(stage: U32, position: U32): Shared<"u32"> {
    const { k } = this.#scope;
    return k.sharedAt("u32", this.#stored, k.mad(stage, this.#form.positions, position));
  }
}
