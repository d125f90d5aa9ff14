import { elementAt } from "@centella/core/backend";
import { type AnchoredCall, asValue, type F32, isBelow, product as productOf, stagedNormArgs, type U32 } from "@centella/gpu-kernels";
import type { HalfType } from "../../../ptx/matrix.ts";
import type { Global } from "../../../ptx/types.ts";
import { pieceOffset } from "../../../weights/halfRows.ts";
import {
  type Argument,
  argumentsOf,
  bucketElements,
  defaultThreads,
  type KernelCall,
  type Launch,
  launch,
  type Parameter,
} from "../../shared/kernel.ts";
import { piece, scaleOf } from "../activations.ts";
import { normedPieces, type RowSource, reducePieces, storedPieces } from "../rowStaging.ts";
import { type ExpertSlots, rowOfSlot, slotArgs, slotCount } from "./expertSlots.ts";
import { panelDepth, panelRowBytes, tileRows, wholeTiles } from "./panels.ts";

/** Rows of activations, and how they are rounded. */
interface RowsToRound {
  /** Where rows `[..., depth]` are. */
  readonly from: Parameter;
  readonly lead: KernelCall["output"]["shape"];
  readonly depth: number;
  /** Computes the rows instead. */
  readonly norm: AnchoredCall | undefined;
  /** Whether this is the first launch that norms the rows: it stores the norm's extra output. */
  readonly isFirst: boolean;
  readonly type: HalfType;
  readonly panels: number;
  /** Rows of a tile, a power of two. Default: those of `multiplyPanels`. */
  readonly perTile?: number;
  /** Order of each 64 numbers. Default: that of the depth. */
  readonly order?: PanelOrder;
  /** Slots that rows go to. Default: in the order of the rows. */
  readonly slots?: ExpertSlots;
}

/**
 * In "fragments" order, number `4 t + 2 h + e` of 16 is at place `8 h + 2 t + e`: where lanes have weights of units, see `LeftFragment`. In "units"
 * order, number `16 c + 4 t + e` of 64 is at place `16 t + 4 c + e`: where units of f16 and bf16 have it, see `halfPlace`.
 */
export type PanelOrder = "depth" | "fragments" | "units";

/** Where rounded rows go. */
interface RoundedRows {
  readonly panels: Parameter;
  /** The factor of each row's results. */
  readonly factors: Parameter;
}

/**
 * Rounds rows of activations, scaled by a power of two so that the largest magnitude of each is just below 2^15. A block takes a row. Rows past the
 * last one, up to whole tiles, become zeros.
 */
export function roundRows(call: KernelCall, rounding: RowsToRound, to: RoundedRows): Launch {
  const { from, lead, depth, norm, isFirst, type, panels: panelCount, perTile = tileRows, order = "depth", slots } = rounding;
  const pieces = (panelCount * panelDepth) / piece;
  const perThread = Math.ceil(pieces / defaultThreads);
  const sourceArgs: Readonly<Record<string, Argument>> = norm === undefined ? { a: from } : argumentsOf(call, stagedNormArgs(norm));
  const blocks = slots?.most ?? perTile * Math.ceil(bucketElements(call, lead) / perTile);
  const entry = `roundRows_${type}${norm === undefined ? "" : "_normed"}`;
  const args = { ...sourceArgs, ...(slots && slotArgs(slots)), panels: to.panels, factors: to.factors };
  return launch(call, entry, { blocks, args, form: [isFirst, type, panelCount, perTile, order] }, (scope) => {
    const { k } = scope;
    const [row, thread] = [k.block(), k.thread()];
    const rows = asValue(k, productOf(k, scope.extents(lead)));
    const allRows = slots === undefined ? wholeTiles(k, rows, perTile) : slotCount(k, slots);
    const panels = k.pointer("panels", "u32");
    const places = Array.from({ length: perThread }, (_, i) => k.add(thread, i * defaultThreads));
    const store = (place: U32, words: readonly U32[]): void => {
      const start = k.atBytes(panels, k.mad(k.shiftRight(place, 3), allRows, row), panelRowBytes);
      const pieceAt = (number: U32): Global<"u32"> => k.atBytes(start, pieceOffset(k, row, number), 1);
      const number = k.and(place, 7);
      if (order === "depth") {
        k.stVector("u32", pieceAt(number), words);
        return;
      }
      for (const high of [0, 1]) {
        const [to, half, first, second] =
          order === "fragments"
            ? [k.add(k.and(number, 6), high), k.and(number, 1), high, 2 + high]
            : [
                k.mad(k.and(number, 1), 4, k.add(k.shiftRight(number, 2), 2 * high)),
                k.and(k.shiftRight(number, 1), 1),
                2 * high,
                2 * high + 1,
              ];
        k.stVector("u32", k.atBytes(pieceAt(to), half, 8), [elementAt(words, first), elementAt(words, second)]);
      }
    };
    const forEachPlace = (body: (place: U32, i: number) => void): void =>
      places.forEach((place, i) => void k.if(k.compare("lt", place, pieces), () => body(place, i)));
    const storeFactor = (factor: F32): void =>
      k.if(k.compare("eq", thread, 0), () => k.st("f32", k.at("f32", k.pointer("factors", "f32"), row), factor));
    const round = <P>(source: RowSource<P>): void => {
      const { largest, valuesAt } = reducePieces(k, source, places);
      const scale = scaleOf(k, { type }, largest);
      forEachPlace((place, i) => {
        const values = valuesAt(i).map((value) => (scale === undefined ? value : k.mul(value, scale.factor)));
        const pairs = [0, 2, 4, 6].map((j) => k.roundPair(type, elementAt(values, j), elementAt(values, j + 1)));
        store(place, pairs);
      });
      storeFactor(scale?.inverse ?? k.constant("f32", 1));
    };
    const lengths = { depth, padded: pieces * piece };
    const isKeeper = isFirst ? k.compare("ge", row, 0) : undefined;
    const roundFrom = (source: U32): void =>
      norm === undefined
        ? round(storedPieces(k, "a", lengths, source))
        : round(normedPieces(scope, norm, lengths, { row: source, isKeeper }));
    const clear = (): void => {
      const zero = k.constant("u32", 0);
      forEachPlace((place) => store(place, [zero, zero, zero, zero]));
    };
    if (slots === undefined) {
      k.ifUniform(
        isBelow(k, row, rows),
        () => roundFrom(row),
        () => k.ifUniform(isBelow(k, row, allRows), clear),
      );
      return;
    }
    k.ifUniform(isBelow(k, row, allRows), () => {
      const line = rowOfSlot(k, row);
      k.ifUniform(
        isBelow(k, line, rows),
        () => roundFrom(k.quotient(line, slots.sharers)),
        () => {
          clear();
          storeFactor(k.constant("f32", 0));
        },
      );
    });
  });
}
