import { elementAt } from "@centella/core/backend";
import { isBelow, product as productOf, type U32 } from "@centella/gpu-kernels";
import type { HalfType } from "../../../ptx/matrix.ts";
import { defaultThreads, type KernelCall, type Launch, launch, type Parameter } from "../../shared/kernel.ts";
import { largestOf, piece, scaleOf, storedRow } from "../activations.ts";
import { maxHeld } from "../rowStaging.ts";
import { type PanelMatrix, panelDepth, panelRowBytes, pieceOffset } from "./panels.ts";

/** Where rounded rows go. */
interface RoundedRows {
  readonly panels: Parameter;
  /** The factor of each row's results. */
  readonly factors: Parameter;
}

/**
 * Rounds rows of activations `[..., depth]`, scaled by a power of two so that the largest magnitude of each is just below 2^15. A block takes a row. Rows
 * past the last one, up to a multiple of `tileRows`, become zeros. Results are `weightScale` times too large before they are multiplied with the factor.
 */
export function roundRows(
  call: KernelCall,
  { from, lead, depth }: { readonly from: Parameter; readonly lead: KernelCall["output"]["shape"]; readonly depth: number },
  { type, matrix, tileRows, weightScale }: { type: HalfType; matrix: PanelMatrix; tileRows: number; weightScale: number },
  to: RoundedRows,
): Launch {
  const pieces = (matrix.panels * panelDepth) / piece;
  const perThread = Math.ceil(pieces / defaultThreads);
  const args = { a: from, panels: to.panels, factors: to.factors };
  return launch(call, `roundRows_${type}`, { blocks: matrix.rows, args }, (scope) => {
    const { k } = scope;
    const [row, thread] = [k.block(), k.thread()];
    const rows = productOf(k, scope.extents(lead));
    const panels = k.pointer("panels", "u32");
    const places = Array.from({ length: perThread }, (_, i) => k.add(thread, i * defaultThreads));
    const store = (place: U32, words: readonly U32[]): void =>
      k.if(k.compare("lt", place, pieces), () => {
        const start = k.atBytes(panels, k.mad(k.shiftRight(place, 3), matrix.rows, row), panelRowBytes);
        k.stVector("u32", k.atBytes(start, pieceOffset(k, row, k.and(place, 7)), 1), words);
      });
    const round = (): void => {
      const load = storedRow(k, "a", { depth, padded: pieces * piece })(row);
      const held = perThread <= maxHeld ? places.map(load) : undefined;
      const valuesOf = (i: number) => held?.[i] ?? load(elementAt(places, i));
      const reduce = k.reducer(["f32"]);
      const scale = scaleOf(k, { type }, () => {
        const largest = places.map((_, i) => largestOf(k, valuesOf(i))).reduce((a, b) => k.max(a, b));
        return reduce([largest], ([a], [b]) => [k.max(a, b)])[0];
      });
      for (const [i, place] of places.entries()) {
        const values = valuesOf(i).map((value) => (scale === undefined ? value : k.mul(value, scale.factor)));
        const words = [0, 2, 4, 6].map((j) => k.roundPair(type, elementAt(values, j), elementAt(values, j + 1)));
        store(place, words);
      }
      const factor = scale === undefined ? k.constant("f32", 1 / weightScale) : k.mul(scale.inverse, 1 / weightScale);
      k.if(k.compare("eq", thread, 0), () => k.st("f32", k.at("f32", k.pointer("factors", "f32"), row), factor));
    };
    const zero = k.constant("u32", 0);
    const clear = (): void => places.forEach((place) => void store(place, [zero, zero, zero, zero]));
    const end = typeof rows === "number" ? tileRows * Math.ceil(rows / tileRows) : k.and(k.add(rows, tileRows - 1), -tileRows >>> 0);
    k.ifUniform(isBelow(k, row, rows), round, () => k.ifUniform(isBelow(k, row, end), clear));
  });
}
