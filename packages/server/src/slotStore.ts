/** Where slots are saved, by plain names: no name has a separator of paths. `slotFiles` of `@centella/server/node` is one. */
export interface SlotStore {
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Undefined if there is none of this name. */
  read(name: string): Promise<Uint8Array | undefined>;
}
