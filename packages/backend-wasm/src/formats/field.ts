/** A field of a block: `count` units of `unit` bytes from byte `at` on. */
export interface Field {
  readonly at: number;
  readonly unit: 1 | 2 | 4;
  readonly count: number;
  /** The 32 bits of a unit are eight groups of four. When interleaved, bit `b` of group `j` is bit `j` of byte `b`. */
  readonly areBitsTransposed?: boolean;
}
