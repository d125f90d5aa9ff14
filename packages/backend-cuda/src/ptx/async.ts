import type { U32, Value } from "@centella/gpu-kernels";
import { CopyWriter } from "./copies.ts";
import type { Elem, Global, Shared } from "./types.ts";

/** Where a kernel's tensor map is, for {@link AsyncWriter.copyBox}. */
export type TensorMapAddress = Value<"tensor map">;

/** How the L2 cache keeps what is copied, for {@link AsyncWriter.copyBulk}. */
export type CachePolicy = Value<"cache policy">;

/** Copies that run beside the kernel, the barriers in shared memory that announce them, and launches that overlap. Needs sm_90. */
export class AsyncWriter extends CopyWriter {
  /** Makes the barrier at `barrier` complete a phase after `arrivals` arrivals and all bytes that were announced. */
  initBarrier(barrier: Shared<"u64">, arrivals: number): void {
    this.require("bulkCopy");
    this.emit(`mbarrier.init.shared::cta.b64 [${barrier}], ${arrivals}`);
  }

  /** Makes barriers that this thread has initialised visible to copies and, after a cluster barrier, to the cluster's other blocks. */
  fenceBarriers(): void {
    this.require("bulkCopy");
    this.emit("fence.mbarrier_init.release.cluster");
    this.emit("fence.proxy.async.shared::cta");
  }

  /** Arrives at a barrier and announces `bytes` of copies for its current phase. */
  expectBytes(barrier: Shared<"u64">, bytes: U32 | number): void {
    this.require("bulkCopy");
    this.emit(`mbarrier.arrive.expect_tx.shared::cta.b64 _, [${barrier}], ${this.operand("u32", bytes)}`);
  }

  /** Arrives at a barrier. What this thread has read or written before is over for threads that wait for the phase. */
  arriveBarrier(barrier: Shared<"u64">): void {
    this.require("bulkCopy");
    this.emit(`mbarrier.arrive.shared::cta.b64 _, [${barrier}]`);
  }

  /** A policy for memory that is read once: it leaves the L2 cache before memory that is read without a policy. Source: PTX ISA, "createpolicy". */
  evictFirst(): CachePolicy {
    this.require("bulkCopy");
    return this.result("u64", "createpolicy.fractional.L2::evict_first.b64", "1.0") as string as CachePolicy;
  }

  /**
   * Starts a copy to shared memory. Both addresses and `bytes` are multiples of 16. The content may be read after {@link waitBarrier}. `policy` says how
   * the L2 cache keeps what is copied.
   */
  copyBulk(to: Shared<Elem>, from: Global<Elem>, bytes: U32 | number, barrier: Shared<"u64">, policy?: CachePolicy): void {
    this.require("bulkCopy");
    const [hint, operand] = policy === undefined ? ["", ""] : [".L2::cache_hint", `, ${policy}`];
    const size = this.operand("u32", bytes);
    const name = `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes${hint}`;
    this.emit(`${name} [${to}], [${from}], ${size}, [${barrier}]${operand}`);
  }

  /** The tensor map that is passed for parameter `name`. */
  tensorMap(name: string): TensorMapAddress {
    this.require("tensorMap");
    if (!this.maps.includes(name)) throw new Error(`ptx ${this.entry}: no tensor map ${name}`);
    const [address, generic] = [this.reg("u64"), this.reg("u64")];
    this.emit(`mov.u64 ${address}, ${name}`);
    this.emit(`cvta.param.u64 ${generic}, ${address}`);
    return generic as string as TensorMapAddress;
  }

  /** Starts to bring a tensor map to where copies look for it. */
  prefetchTensorMap(map: TensorMapAddress): void {
    this.require("tensorMap");
    this.emit(`prefetch.tensormap [${map}]`);
  }

  /**
   * Starts a copy of the box of a matrix whose first element is in `column` and `row`. `to` is a multiple of 128 bytes. There, piece c of 16 bytes
   * of the row at address a is at place `c ^ a / 128 % 8` of the row. What is beyond the last row or column becomes zeros, and counts among the
   * barrier's bytes.
   */
  copyBox(to: Shared<Elem>, map: TensorMapAddress, column: U32, row: U32, barrier: Shared<"u64">): void {
    this.require("tensorMap");
    const name = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    this.emit(`${name} [${to}], [${map},{${column},${row}}], [${barrier}]`);
  }

  /** Starts to bring memory to the L2 cache. The address and `bytes` are multiples of 16. */
  prefetchBulk(from: Global<Elem>, bytes: number): void {
    this.require("bulkCopy");
    this.emit(`cp.async.bulk.prefetch.L2.global [${from}], ${bytes}`);
  }

  /** Starts to bring the box of a matrix whose first element is in `column` and `row` to the L2 cache. */
  prefetchBox(map: TensorMapAddress, column: U32, row: U32): void {
    this.require("tensorMap");
    this.emit(`cp.async.bulk.prefetch.tensor.2d.L2.global.tile [${map},{${column},${row}}]`);
  }

  /**
   * Starts a copy from shared memory to `to`. Both addresses and `bytes` are multiples of 16. The source needs {@link fenceAsyncProxy} after
   * it is written, and must stay until {@link waitBulkReads}. The copy belongs to the next {@link commitBulk} of this thread.
   */
  storeBulk(to: Global<Elem>, from: Shared<Elem>, bytes: U32 | number): void {
    this.require("bulkCopy");
    this.emit(`cp.async.bulk.global.shared::cta.bulk_group [${to}], [${from}], ${this.operand("u32", bytes)}`);
  }

  /**
   * Starts a copy of a box from shared memory to the matrix of a tensor map, laid out as {@link copyBox} lays it out. `from` is a multiple of 128 bytes.
   * What is beyond the last row or column is not written. Source and group are as for {@link storeBulk}. Source: PTX ISA, "cp.async.bulk.tensor".
   */
  storeBox(map: TensorMapAddress, column: U32, row: U32, from: Shared<Elem>): void {
    this.require("tensorMap");
    this.emit(`cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [${map},{${column},${row}}], [${from}]`);
  }

  /** Ends a group of this thread's copies from shared memory. */
  commitBulk(): void {
    this.require("bulkCopy");
    this.emit("cp.async.bulk.commit_group");
  }

  /** Waits until all but the last `pending` groups of this thread's copies have read their sources. */
  waitBulkReads(pending: number): void {
    this.require("bulkCopy");
    this.emit(`cp.async.bulk.wait_group.read ${pending}`);
  }

  /** Waits until all but the last `pending` groups of this thread's copies are over: this thread may read what they wrote. */
  waitBulk(pending: number): void {
    this.require("bulkCopy");
    this.emit(`cp.async.bulk.wait_group ${pending}`);
  }

  /** Shows this thread's writes to shared memory to copies from there and to warpgroup products, once a barrier has ordered them. */
  fenceAsyncProxy(): void {
    this.require("bulkCopy");
    this.emit("fence.proxy.async.shared::cta");
  }

  /**
   * Waits until the barrier has completed the phase of this parity: 0 for the first one, 1 for the second one, 0 for the third one. After a wait with
   * the scope "cluster" (needs sm_90), what threads of other blocks wrote before they arrived may be read too.
   */
  waitBarrier(barrier: Shared<"u64">, parity: U32, scope: "block" | "cluster" = "block"): void {
    this.require(scope === "block" ? "bulkCopy" : "cluster");
    const isDone = this.reg("bool");
    const start = this.label();
    this.place(start);
    this.emit(`mbarrier.try_wait.parity${scope === "block" ? "" : ".acquire.cluster"}.shared::cta.b64 ${isDone}, [${barrier}], ${parity}`);
    this.emit(`@!${isDone} bra ${start}`);
  }

  /** Lets the next launch start as soon as every block of this one has come here or ended. */
  launchDependents(): void {
    this.require("dependentLaunch");
    this.emit("griddepcontrol.launch_dependents");
  }

  /** Waits until all earlier launches are over and what they wrote can be read. */
  waitForEarlierLaunches(): void {
    this.require("dependentLaunch");
    this.emit("griddepcontrol.wait");
  }

  /** Waits for the lanes of the warp: what they wrote to memory before may be read after. */
  syncWarp(): void {
    this.emit("bar.warp.sync 0xFFFFFFFF");
  }
}
