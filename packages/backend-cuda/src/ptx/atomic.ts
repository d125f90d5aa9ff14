import type { U32 } from "@centella/gpu-kernels";
import { MemoryWriter, spaceOf } from "./memory.ts";
import { type Global, ptxNames, type Reg, type Shared } from "./types.ts";
import { typeOf } from "./writer.ts";

/** The threads that an atomic access or a fence is ordered for. Source: PTX ISA, "Scope". */
export type Scope = "block" | "cluster" | "device" | "system";

/**
 * What an atomic access orders. Accesses before a "release" can be seen after an "acquire" that has seen its value; "acquireRelease" does both, and "relaxed"
 * orders nothing. Source: PTX ISA, "Memory Consistency Model".
 */
export type Order = "relaxed" | "acquire" | "release" | "acquireRelease";

/** Operations on a number in memory, by its type. Integers wrap; the sum of several f32 depends on their order. */
export interface AtomicOperations {
  readonly u32: "add" | "min" | "max" | "and" | "or" | "xor" | "exchange";
  readonly i32: "add" | "min" | "max" | "exchange";
  readonly f32: "add" | "exchange";
}

/** Types of numbers that atomic accesses change. */
export type AtomicElem = keyof AtomicOperations;

/** Scope of an atomic access (the device for global memory, the block for shared memory), and what it orders ("relaxed"). */
export interface AtomicTraits<O extends Order = Order> {
  readonly scope?: Scope;
  readonly order?: O;
}

const scopes: Readonly<Record<Scope, string>> = { block: "cta", cluster: "cluster", device: "gpu", system: "sys" };
const orders: Readonly<Record<Order, string>> = { relaxed: "relaxed", acquire: "acquire", release: "release", acquireRelease: "acq_rel" };
const bitOperations: Readonly<Record<string, string>> = { and: "and.b32", or: "or.b32", xor: "xor.b32", exchange: "exch.b32" };

/** Numbers that the blocks of a launch share, or the threads of a block, and fences. */
export class AtomicWriter extends MemoryWriter {
  /** Counters in the module's own memory: 0 when it is loaded, and kept from launch to launch. */
  counters(count: number): Global<"u32"> {
    this.tables.push(`.global .align 8 .u32 counters[${count}];`);
    const to: string = this.reg("u64");
    this.emit(`mov.u64 ${to}, counters`);
    return to as Global<"u32">;
  }

  /**
   * Combines a number in memory with `value` in one step, and returns the number before. Other threads may do so at the same time. The scope "cluster" needs
   * sm_90. Source: PTX ISA, "atom".
   */
  atomic<E extends AtomicElem>(
    elem: E,
    operation: AtomicOperations[NoInfer<E>],
    at: Global<NoInfer<E>> | Shared<NoInfer<E>>,
    value: Reg<NoInfer<E>> | number,
    traits: AtomicTraits = {},
  ): Reg<E> {
    const to = this.reg(elem) as Reg<E>;
    const name = `atom.${this.#traits(at, traits)}.${operationName(operation, elem)}`;
    this.emit(`${name} ${to}, [${at}], ${this.operand(elem, value)}`);
    return to;
  }

  /**
   * As {@link atomic}, without the number before: the device need not send it back. Source: PTX ISA, "red".
   */
  atomicUpdate<E extends AtomicElem>(
    elem: E,
    operation: Exclude<AtomicOperations[NoInfer<E>], "exchange">,
    at: Global<NoInfer<E>> | Shared<NoInfer<E>>,
    value: Reg<NoInfer<E>> | number,
    traits: AtomicTraits<"relaxed" | "release"> = {},
  ): void {
    this.emit(`red.${this.#traits(at, traits)}.${operationName(operation, elem)} [${at}], ${this.operand(elem, value)}`);
  }

  /**
   * Writes `value` to memory if the number there is `expected`, in one step. Returns the number before: it is `expected` where `value` was written.
   * Source: PTX ISA, "atom".
   */
  compareExchange<E extends "u32" | "i32">(
    elem: E,
    at: Global<NoInfer<E>> | Shared<NoInfer<E>>,
    expected: Reg<NoInfer<E>> | number,
    value: Reg<NoInfer<E>> | number,
    traits: AtomicTraits = {},
  ): Reg<E> {
    const to = this.reg(elem) as Reg<E>;
    const operands = [to, `[${at}]`, this.operand(elem, expected), this.operand(elem, value)];
    this.emit(`atom.${this.#traits(at, traits)}.cas.b32 ${operands.join(", ")}`);
    return to;
  }

  /**
   * Orders this thread's accesses before the fence with those after it, for threads of the scope. With a relaxed atomic access after it, it acts as a release,
   * and with one before it as an acquire. "sequential" also gives all such fences one order, as `membar` does. The scope "cluster" needs sm_90.
   * Source: PTX ISA, "membar / fence".
   */
  fence(scope: Scope = "device", order: "acquireRelease" | "sequential" = "acquireRelease"): void {
    this.emit(`fence.${order === "sequential" ? "sc" : orders[order]}.${this.#scope(scope)}`);
  }

  /**
   * Adds 1 and returns the number before. What this thread wrote earlier, and what a barrier of the block has shown it, can be read by threads
   * that count later, and after a barrier by their blocks.
   */
  countUp(counter: Global<"u32">): U32 {
    return this.atomic("u32", "add", counter, 1, { order: "acquireRelease" });
  }

  /** Adds to a number in global memory, to which other blocks may add at the same time. Sums of f32 depend on their order. */
  addGlobal<E extends "u32" | "f32">(to: Global<NoInfer<E>>, value: Reg<E>): void {
    this.atomicUpdate<AtomicElem>(typeOf(value) as E, "add", to, value);
  }

  /** Adds to a number of the block and returns it as it was before. */
  addShared(counter: Shared<"u32">, value: U32 | number): U32 {
    return this.atomic("u32", "add", counter, value);
  }

  #traits(at: string, { scope, order = "relaxed" }: AtomicTraits): string {
    const space = spaceOf(at);
    return `${orders[order]}.${this.#scope(scope ?? (space === "global" ? "device" : "block"))}.${space}`;
  }

  #scope(scope: Scope): string {
    if (scope === "cluster") this.require("cluster");
    return scopes[scope];
  }
}

function operationName(operation: string, elem: AtomicElem): string {
  return bitOperations[operation] ?? `${operation}.${ptxNames[elem]}`;
}
