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

/** Most pages that engines give a memory: 4 GiB, and 16 GiB with 64-bit addresses. */
export const engineMaxPages = { memory32: 65_536, memory64: 262_144 } as const;

/** Whole pages of so many MiB. */
export function pagesOf(mebibytes: number): number {
  return Math.floor((mebibytes * 2 ** 20) / pageBytes);
}
