import type { U32 } from "@centella/gpu-kernels";
import { MemoryWriter } from "./memory.ts";
import type { Global, Reg, Shared } from "./types.ts";
import { typeOf } from "./writer.ts";

/** Counters that the blocks of a launch share, or the threads of a block. */
export class AtomicWriter extends MemoryWriter {
  /** Counters in the module's own memory: 0 when it is loaded, and kept from launch to launch. */
  counters(count: number): Global<"u32"> {
    this.tables.push(`.global .align 8 .u32 counters[${count}];`);
    const to: string = this.reg("u64");
    this.emit(`mov.u64 ${to}, counters`);
    return to as Global<"u32">;
  }

  /**
   * Adds 1 and returns the number before. What this thread wrote earlier, and what a barrier of the block has shown it, can be read by threads
   * that count later, and after a barrier by their blocks.
   */
  countUp(counter: Global<"u32">): U32 {
    const to = this.reg("u32");
    this.emit(`atom.acq_rel.gpu.global.add.u32 ${to}, [${counter}], 1`);
    return to;
  }

  /** Adds to a number in global memory, to which other blocks may add at the same time. Sums of f32 depend on their order. */
  addGlobal<E extends "u32" | "f32">(to: Global<NoInfer<E>>, value: Reg<E>): void {
    this.emit(`red.relaxed.gpu.global.add.${typeOf(value)} [${to}], ${value}`);
  }

  /** Adds to a number of the block and returns it as it was before. */
  addShared(counter: Shared<"u32">, value: U32 | number): U32 {
    return this.result("u32", "atom.shared.add.u32", `[${counter}], ${this.operand("u32", value)}`);
  }
}
