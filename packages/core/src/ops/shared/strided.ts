import { elementAt } from "@centella/quant/checks";
import type { HostTensor } from "../../program/op.ts";

/** Place of a block in an array: element `(i, j, ...)` is at `start + i * strides[0] + j * strides[1] + ...`. */
export interface Place {
  readonly start: number;
  readonly strides: readonly number[];
}

/** Element strides of a row-major shape. */
export function rowMajor(shape: readonly number[]): readonly number[] {
  return shape.map((_, axis) => shape.slice(axis + 1).reduce((stride, extent) => stride * extent, 1));
}

/** Copies a block of `shape` from one place to another. */
export function copyBlock(shape: readonly number[], from: HostTensor, source: Place, to: HostTensor, target: Place): void {
  if (shape.includes(0)) return;
  const axes = shape.map((extent, axis) => {
    return { extent, index: 0, step: [elementAt(source.strides, axis), elementAt(target.strides, axis)] as const };
  });
  axes.reverse();
  let [p, q] = [source.start, target.start];
  /** Moves both places to the next element. False after the last one. */
  const advance = (): boolean => {
    for (const axis of axes) {
      const [ofSource, ofTarget] = axis.step;
      axis.index++;
      p += ofSource;
      q += ofTarget;
      if (axis.index < axis.extent) return true;
      p -= ofSource * axis.extent;
      q -= ofTarget * axis.extent;
      axis.index = 0;
    }
    return false;
  };
  do to.data[q] = from.data[p]!;
  while (advance());
}
