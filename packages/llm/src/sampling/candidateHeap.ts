import type { Candidates } from "./candidates.ts";

/** Order of two candidates: the greater logit first, the lower id of equals. */
function precedes(ids: Int32Array, logits: Float32Array, a: number, b: number): boolean {
  return logits[a]! > logits[b]! || (logits[a] === logits[b] && ids[a]! < ids[b]!);
}

function swap(ids: Int32Array, logits: Float32Array, a: number, b: number): void {
  const id = ids[a]!;
  const logit = logits[a]!;
  ids[a] = ids[b]!;
  logits[a] = logits[b]!;
  ids[b] = id;
  logits[b] = logit;
}

/** Restores the order of a heap of `size` below index `i`. The first candidate in order is on top, or with `lastOnTop` the last one. */
function siftDown(ids: Int32Array, logits: Float32Array, i: number, size: number, lastOnTop: boolean): void {
  for (let child = 2 * i + 1; child < size; child = 2 * i + 1) {
    if (child + 1 < size && precedes(ids, logits, child + 1, child) !== lastOnTop) child++;
    if (precedes(ids, logits, i, child) !== lastOnTop) return;
    swap(ids, logits, i, child);
    i = child;
  }
}

function heapify(ids: Int32Array, logits: Float32Array, size: number, lastOnTop: boolean): void {
  for (let i = (size >> 1) - 1; i >= 0; i--) siftDown(ids, logits, i, size, lastOnTop);
}

/** The first `count` candidates in order. Does not sort the remaining ones: a heap of size `count` sees each candidate once. */
export function largest(candidates: Candidates, count: number): Candidates {
  const { length } = candidates.ids;
  const size = Math.min(count, length);
  if (candidates.sorted) return { ids: candidates.ids.subarray(0, size), logits: candidates.logits.subarray(0, size), sorted: true };
  const ids = candidates.ids.slice(0, size);
  const logits = candidates.logits.slice(0, size);
  heapify(ids, logits, size, true);
  for (let i = size; i < length; i++) {
    const logit = candidates.logits[i]!;
    if (logit < logits[0]!) continue;
    const id = candidates.ids[i]!;
    if (logit === logits[0] && id > ids[0]!) continue;
    ids[0] = id;
    logits[0] = logit;
    siftDown(ids, logits, 0, size, true);
  }
  for (let end = size - 1; end > 0; end--) {
    swap(ids, logits, 0, end);
    siftDown(ids, logits, 0, end, true);
  }
  return { ids, logits, sorted: true };
}

/** The first candidates in order, up to and including the first one for whose logit `wants` returns false. */
export function largestWhile(candidates: Candidates, wants: (logit: number) => boolean): Candidates {
  const { length } = candidates.ids;
  if (candidates.sorted) {
    const last = candidates.logits.findIndex((logit) => !wants(logit));
    const count = last < 0 ? length : last + 1;
    return { ids: candidates.ids.subarray(0, count), logits: candidates.logits.subarray(0, count), sorted: true };
  }
  const ids = candidates.ids.slice();
  const logits = candidates.logits.slice();
  heapify(ids, logits, length, false);
  // Candidates that are taken from the heap are collected at the end of the arrays, the first one last.
  let size = length;
  while (size > 0) {
    size--;
    swap(ids, logits, 0, size);
    siftDown(ids, logits, 0, size, false);
    if (!wants(logits[size]!)) break;
  }
  return { ids: ids.slice(size).reverse(), logits: logits.slice(size).reverse(), sorted: true };
}
