/** `[vertical, horizontal]` */
export type Pair = readonly [number, number];

/** Placement of windows of the kernel's size on an image. */
export interface Windows {
  readonly stride: Pair;
  /** Elements added on each of the two sides of an axis. */
  readonly padding: Pair;
  readonly dilation: Pair;
}

/** Number of windows along an axis: `floor((extent + 2 padding - dilation (kernel - 1) - 1) / stride) + 1`; below 1 if no window fits. */
export function windowCount({ stride, padding, dilation }: Windows, axis: 0 | 1, extent: number, kernel: number): number {
  return Math.floor((extent + 2 * padding[axis] - dilation[axis] * (kernel - 1) - 1) / stride[axis]) + 1;
}
