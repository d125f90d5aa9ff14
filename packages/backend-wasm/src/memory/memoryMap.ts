/** Fixed addresses in WASM memory. Address 0 stays unused, so that a null pointer reads zeros. */
export const memoryMap: {
  readonly constants: { readonly address: number; readonly bytes: number };
  readonly halfTable: number;
  readonly control: number;
  readonly heap: number;
} = {
  /** Constants of kernels. */
  constants: { address: 64, bytes: 16_320 },
  /** f32 values of all 65,536 halves: one load per block scale, exact for infinities and NaN. */
  halfTable: 16_384,
  /** Control block of the threads: see stageRunner.ts. */
  control: 16_384 + 4 * 65_536,
  /** Start of the heap, after the control block. */
  heap: 16_384 + 4 * 65_536 + 256,
};

/** Bytes of a WASM page. */
export const pageBytes = 65_536;

/** Maximum pages that engines allow: 4 GiB, and 16 GiB with 64-bit addresses. */
export const engineMaxPages = { memory32: 65_536, memory64: 262_144 } as const;

/** Whole pages in a number of MiB. */
export function pagesOf(mebibytes: number): number {
  return Math.floor((mebibytes * 2 ** 20) / pageBytes);
}
