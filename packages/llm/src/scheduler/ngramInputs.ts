import type { NgramShape } from "../load/modelShape.ts";
import type { FurtherInputs, Slice } from "./runInputs.ts";

/** Inputs of a model with embeddings of n-grams: the rows of its table for each token, `ngramRows [T, hashes]`. */
export function ngramInputs(shape: NgramShape): FurtherInputs {
  return (slices) => ({ data: { ngramRows: Int32Array.from(slices.flatMap((slice) => rowsOfSlice(slice, shape))) }, dims: {} });
}

function rowsOfSlice({ request, count }: Slice, shape: NgramShape): number[] {
  const { sequence, ids, start, done } = request;
  const idAt = (position: number): number | undefined => (position < start ? sequence.ids[position] : ids[position - start]);
  return Array.from({ length: count }, (_, i) => ngramRows(idAt, start + done + i, shape)).flat();
}

/** Rows of the n-grams that end at a position. A text's beginning and an end of text hide the tokens before. */
export function ngramRows(
  idAt: (position: number) => number | undefined,
  position: number,
  { size, perSize, multipliers, offsets, counts, endId }: NgramShape,
): number[] {
  const rows: number[] = [];
  let [hash, isHidden] = [0n, false];
  for (let back = 0; back < size; back++) {
    const id = isHidden ? undefined : idAt(position - back);
    if (back > 0) isHidden ||= id === undefined || id === endId;
    hash ^= BigInt.asUintN(64, BigInt(isHidden ? endId : (id ?? endId)) * (multipliers[back] ?? 0n));
    if (back === 0) continue;
    for (let index = 0; index < perSize; index++) {
      const row = (back - 1) * perSize + index;
      rows.push(Number(hash % BigInt(counts[row] ?? 1)) + (offsets[row] ?? 0));
    }
  }
  return rows;
}
