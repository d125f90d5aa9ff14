import type { Bool, U32 } from "@centella/gpu-kernels";
import { type Axis, ptxNames, type Reg } from "./types.ts";
import { WarpgroupWriter } from "./warpgroup.ts";
import { typeOf } from "./writer.ts";

/** Operations that combine the values of lanes. */
export type LaneOperation<T extends "u32" | "i32"> = "add" | "min" | "max" | (T extends "u32" ? "and" | "or" | "xor" : never);

/**
 * Writes a kernel: one instruction per method, and structured flow. Values are registers that are written once; {@link PtxWriter.variable} gives
 * one that changes. `text()` returns the module, the same bytes for the same calls. `emit` and `reg` write instructions that have no method.
 */
export class PtxBuilder extends WarpgroupWriter {
  #divergent = 0;

  /** The thread's number in its block. */
  thread(): U32 {
    return this.special("%tid.x");
  }

  /** The block's place in the grid along an axis. */
  block(axis: Axis = "x"): U32 {
    return this.special(`%ctaid.${axis}`);
  }

  /** Number of blocks of the launch along an axis. */
  blocks(axis: Axis = "x"): U32 {
    return this.special(`%nctaid.${axis}`);
  }

  /** Runs `then` (else `otherwise`) in the threads for which `condition` holds; threads of a block may differ. */
  if(condition: Bool, then: () => void, otherwise?: () => void): void {
    this.#divergent++;
    this.ifUniform(condition, then, otherwise);
    this.#divergent--;
  }

  /** As {@link if}, for a condition that is the same in every thread of the block: `sync()` is allowed inside. */
  ifUniform(condition: Bool, then: () => void, otherwise?: () => void): void {
    const end = this.label();
    if (otherwise === undefined) {
      this.emit(`@!${condition} bra ${end}`);
      then();
    } else {
      const branch = this.label();
      this.emit(`@!${condition} bra ${branch}`);
      then();
      this.emit(`bra ${end}`);
      this.place(branch);
      otherwise();
    }
    this.place(end);
  }

  /** `for (i = from; i < to; i += step)`; threads of a block may differ in all three. */
  for(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    this.#divergent++;
    this.forUniform(from, to, step, body);
    this.#divergent--;
  }

  /** As {@link for}, with bounds that are the same in every thread of the block: `sync()` is allowed inside. */
  forUniform(from: U32 | number, to: U32 | number, step: U32 | number, body: (i: U32) => void): void {
    const i = this.variable("u32", from);
    this.whileUniform(
      () => this.compare("lt", i.get(), to),
      () => {
        const now = i.get();
        body(now);
        i.set(this.add(now, step));
      },
    );
  }

  /** Tests, then runs `body`, as long as the test holds; the test must come out the same in every thread of the block. */
  whileUniform(test: () => Bool, body: () => void): void {
    const start = this.label();
    const end = this.label();
    // Tested at the end of the body as well: a loop whose back branch is unconditional has tripped driver compilers.
    this.emit(`@!${test()} bra ${end}`);
    this.place(start);
    body();
    this.emit(`@${test()} bra ${start}`);
    this.place(end);
  }

  /** As {@link whileUniform}; threads of a block may differ. */
  while(test: () => Bool, body: () => void): void {
    this.#divergent++;
    this.whileUniform(test, body);
    this.#divergent--;
  }

  /** Waits for every thread of the block. @throws {Error} inside flow in which threads may differ: it would hang there */
  sync(): void {
    if (this.#divergent > 0) throw new Error(`ptx ${this.entry}: sync() inside divergent flow`);
    this.emit("bar.sync 0");
  }

  /**
   * Waits for `threads` threads, whole warps, at barrier `number`, 1 to 15. Allowed where threads of the block differ: the warps of one role
   * have a barrier of their own.
   */
  syncSome(number: U32 | number, threads: number): void {
    this.emit(`bar.sync ${this.operand("u32", number)}, ${threads}`);
  }

  /**
   * Waits for every thread of the cluster: what they wrote to memory before, also to shared memory of the cluster's blocks, may be read after.
   * @throws {Error} inside flow in which threads may differ
   */
  syncCluster(): void {
    if (this.#divergent > 0) throw new Error(`ptx ${this.entry}: syncCluster() inside divergent flow`);
    this.arriveCluster();
    this.waitCluster();
  }

  /**
   * Arrives at the cluster's barrier. Each thread of the cluster arrives and then waits ({@link waitCluster}), also where threads of a block differ.
   * With "relaxed" it shows others only that this block runs, and the barriers for copies that {@link fenceBarriers} has fenced; by default also
   * what this thread has written. Needs sm_90. Source: PTX ISA, "barrier.cluster".
   */
  arriveCluster(order: "release" | "relaxed" = "release"): void {
    this.require("cluster");
    this.emit(`barrier.cluster.arrive.${order}${this.#aligned}`);
  }

  /** Waits until every thread of the cluster has arrived or ended. What they wrote before they arrived may be read after. */
  waitCluster(): void {
    this.require("cluster");
    this.emit(`barrier.cluster.wait.acquire${this.#aligned}`);
  }

  /** The form of barriers that whole warps reach together. */
  get #aligned(): string {
    return this.#divergent > 0 ? "" : ".aligned";
  }

  /** The value that the lane whose number differs in `mask` holds. All lanes of the warp must take part. */
  shuffleXor<T extends "u32" | "i32" | "f32">(value: Reg<T>, mask: number): Reg<T> {
    const to = this.reg(typeOf(value)) as Reg<T>;
    this.emit(`shfl.sync.bfly.b32 ${to}, ${value}, ${mask}, 31, 0xFFFFFFFF`);
    return to;
  }

  /** The value that the first lane holds, as one that ptxas knows to be the same in all lanes. All lanes of the warp must take part. */
  ofFirstLane<T extends "u32" | "i32" | "f32">(value: Reg<T>): Reg<T> {
    const to = this.reg(typeOf(value)) as Reg<T>;
    this.emit(`shfl.sync.idx.b32 ${to}, ${value}, 0, 31, 0xFFFFFFFF`);
    return to;
  }

  /** Whether `condition` holds in any lane. All lanes of the warp must take part. */
  anyLane(condition: Bool): Bool {
    const to = this.reg("bool");
    this.emit(`vote.sync.any.pred ${to}, ${condition}, 0xFFFFFFFF`);
    return to;
  }

  /**
   * Combines the values of a warp's lanes; each lane gets the result. Sums wrap at 32 bits. All lanes of the warp must take part. Source: PTX ISA,
   * "redux.sync".
   */
  reduceLanes<T extends "u32" | "i32">(operation: LaneOperation<NoInfer<T>>, value: Reg<T>): Reg<T> {
    const type = typeOf(value) as T;
    const to = this.reg(type);
    const isOfBits = operation === "and" || operation === "or" || operation === "xor";
    this.emit(`redux.sync.${operation}.${isOfBits ? "b32" : ptxNames[type]} ${to}, ${value}, 0xFFFFFFFF`);
    return to;
  }
}
