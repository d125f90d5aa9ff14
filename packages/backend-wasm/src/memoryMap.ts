/** Fixed places in WASM memory. Address 0 stays unused, so that a forgotten pointer reads zeros and not someone's data. */
export const memoryMap: {
  readonly constants: { readonly address: number; readonly bytes: number };
  readonly halfTable: number;
  readonly control: number;
  readonly heap: number;
} = {
  /** Constants of the kernels. */
  constants: { address: 64, bytes: 16_320 },
  /** f32 values of all 65,536 halves: one load per block scale, exact for infinities and NaN. */
  halfTable: 16_384,
  /** Control block of the threads. */
  control: 16_384 + 4 * 65_536,
  /** Where the heap starts: after the fields of walk.ts. */
  heap: 16_384 + 4 * 65_536 + 256,
};

/** Bytes of a WASM page. */
export const pageBytes = 65_536;
