/** Copies slots of the cache on the device. Runs that are submitted later see the copies. */
export interface SlotCopier {
  /** Whether slots can be copied. Where they cannot, their tokens are computed again. */
  readonly isOpen: boolean;
  /** Compiles what copies. It stays closed if the backend cannot copy within this cache, or has no memory for it. */
  open(): Promise<void>;
  /** Copies the slots of one block, or a part of them. Returns false if the device is lost. */
  copy(from: Int32Array, to: Int32Array): boolean;
}
