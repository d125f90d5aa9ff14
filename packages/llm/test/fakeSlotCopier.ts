import type { SlotCopier } from "../src/cache/slotCopier.ts";

/** Records the slots that it is told to copy: from, to, from, to, …. */
export class FakeSlotCopier implements SlotCopier {
  readonly copied: number[][] = [];
  isOpen = false;

  async open(): Promise<void> {
    this.isOpen = true;
  }

  copy(from: Int32Array, to: Int32Array): boolean {
    this.copied.push([...from], [...to]);
    return true;
  }
}
