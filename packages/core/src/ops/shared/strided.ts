import type { HostTensor } from "../../program/op.ts";

/** Place of a block in an array: element `(i, j, ...)` is at `start + i * strides[0] + j * strides[1] + ...`. */
export interface Place {
  readonly start: number;
  readonly strides: readonly number[];
}

/** Element strides of a row-major shape. */
export function rowMajor(shape: readonly number[]): readonly number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= shape[axis]!;
  }
  return strides;
}

/** Copies a block of `shape` from one place to another. */
export function copyBlock(shape: readonly number[], from: HostTensor, source: Place, to: HostTensor, target: Place): void {
  if (shape.includes(0)) return;
  const at = shape.map(() => 0);
  let [p, q] = [source.start, target.start];
  for (;;) {
    to.data[q] = from.data[p]!;
    let axis = shape.length - 1;
    for (; axis >= 0; axis--) {
      at[axis]!++;
      p += source.strides[axis]!;
      q += target.strides[axis]!;
      if (at[axis]! < shape[axis]!) break;
      p -= source.strides[axis]! * shape[axis]!;
      q -= target.strides[axis]! * shape[axis]!;
      at[axis] = 0;
    }
    if (axis < 0) return;
  }
}
