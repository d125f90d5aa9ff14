import type { U32, Value } from "@centella/gpu-kernels";
import { check, kind } from "@centella/quant/checks";
import { AsyncWriter, type TensorMapAddress } from "./async.ts";
import type { VectorElem } from "./memory.ts";
import { type Axis, type Elem, elemBytes, type Global, ptxNames, type Reg, type Shared } from "./types.ts";
import { typeOf } from "./writer.ts";

/** 32-bit address of an `E` in the shared memory of a block of the cluster: of another block, or of the block itself. */
export type RemoteShared<E extends Elem> = Value<`remote shared ${E}`>;

/** Most blocks of a cluster that every device with clusters takes. */
const maxClusterBlocks = 8;

const clusterSize = kind(
  `three whole numbers from 1 whose product is at most ${maxClusterBlocks}`,
  (size) =>
    Array.isArray(size) && size.every((each) => Number.isInteger(each) && each > 0) && size.reduce((a, b) => a * b) <= maxClusterBlocks,
);

/**
 * Clusters: blocks that run at the same time and reach each other's shared memory ("distributed shared memory"). Needs sm_90. A block may
 * touch another one's memory only between two cluster barriers ({@link PtxBuilder.syncCluster}): the first makes sure that the other block runs,
 * and the second that it does not end before. Source: PTX ISA, "Cluster Dimension Directives", "mapa", "barrier.cluster".
 */
export class ClusterWriter extends AsyncWriter {
  /**
   * Makes clusters of `x * y * z` neighbouring blocks, at most 8 (default: 1 block). The text says so to the driver (`.reqnctapercluster`): a launch
   * needs no attribute, but its grid must have a multiple of each number of blocks.
   * @throws {ArgumentError} for another size
   */
  setCluster(x: number, y = 1, z = 1): void {
    this.require("cluster");
    check("PtxBuilder", "the cluster", [x, y, z], clusterSize);
    this.cluster = [x, y, z];
  }

  /** The cluster's place in the grid along an axis, in clusters. */
  clusterIndex(axis: Axis = "x"): U32 {
    return this.#special(`%clusterid.${axis}`);
  }

  /** Number of clusters of the launch along an axis. */
  clusters(axis: Axis = "x"): U32 {
    return this.#special(`%nclusterid.${axis}`);
  }

  /** The block's place in its cluster along an axis. */
  blockOfCluster(axis: Axis = "x"): U32 {
    return this.#special(`%cluster_ctaid.${axis}`);
  }

  /** Number of blocks of a cluster along an axis. */
  blocksOfCluster(axis: Axis = "x"): U32 {
    return this.#special(`%cluster_nctaid.${axis}`);
  }

  /** The block's number in its cluster, from 0: x first, then y and z. {@link remote} and masks of blocks count like this. */
  clusterRank(): U32 {
    return this.#special("%cluster_ctarank");
  }

  /** Number of blocks of a cluster. */
  clusterBlocks(): U32 {
    return this.#special("%cluster_nctarank");
  }

  /** The same place as `address`, in the shared memory of the cluster's block number `rank`. */
  remote<E extends Elem>(address: Shared<E>, rank: U32 | number): RemoteShared<E> {
    this.require("cluster");
    const to: string = this.reg("u32");
    this.emit(`mapa.shared::cluster.u32 ${to}, ${address}, ${this.operand("u32", rank)}`);
    return to as RemoteShared<E>;
  }

  /** The element `offset` places after the address. */
  ldRemote<E extends Elem>(elem: E, from: RemoteShared<NoInfer<E>>, offset = 0): Reg<E> {
    this.require("cluster");
    const to = this.reg(elem);
    this.emit(`ld.shared::cluster.${ptxNames[elem]} ${to}, ${place(elem, from, offset)}`);
    return to;
  }

  /** Consecutive elements in one access; the address must be a multiple of their size in all. */
  ldRemoteVector<E extends VectorElem>(elem: E, from: RemoteShared<NoInfer<E>>, offset = 0, count: 2 | 4 = 4): readonly Reg<E>[] {
    this.require("cluster");
    const to = Array.from({ length: count }, () => this.reg(elem));
    this.emit(`ld.shared::cluster.v${count}.${elem} {${to.join(",")}}, ${place(elem, from, offset)}`);
    return to;
  }

  /** Stores an element `offset` places after the address. Blocks may read it after a cluster barrier, or after a wait for {@link arriveRemote}. */
  stRemote<E extends Elem>(elem: E, to: RemoteShared<NoInfer<E>>, value: Reg<NoInfer<E>>, offset = 0): void {
    this.require("cluster");
    this.emit(`st.shared::cluster.${ptxNames[elem]} ${place(elem, to, offset)}, ${value}`);
  }

  /** Stores two or four consecutive elements in one access; the address must be a multiple of their size in all. */
  stRemoteVector<E extends VectorElem>(elem: E, to: RemoteShared<NoInfer<E>>, values: readonly Reg<NoInfer<E>>[], offset = 0): void {
    this.require("cluster");
    this.emit(`st.shared::cluster.v${values.length}.${elem} ${place(elem, to, offset)}, {${values.join(",")}}`);
  }

  /** Adds to a number in shared memory, to which threads of the cluster may add at the same time. Sums of f32 depend on their order. */
  addRemote<E extends "u32" | "f32">(to: RemoteShared<NoInfer<E>>, value: Reg<E>): void {
    this.require("cluster");
    this.emit(`red.relaxed.cluster.shared::cluster.add.${typeOf(value)} [${to}], ${value}`);
  }

  /**
   * Arrives at a barrier of another block, which its block has shown with {@link fenceBarriers} and a cluster barrier. What this thread has read or
   * written before is over for threads that wait for the phase with the scope "cluster". Source: PTX ISA, "mbarrier.arrive".
   */
  arriveRemote(barrier: RemoteShared<"u64">): void {
    this.require("cluster");
    this.emit(`mbarrier.arrive.release.cluster.shared::cluster.b64 _, [${barrier}]`);
  }

  /**
   * As {@link copyBulk}, to the blocks of the cluster whose bits are set in `blocks` (bit i for rank i). Needs sm_90a. The content lands at the same place of
   * each block, and counts among the bytes of the barrier at the same place of each: each block announces them itself. A block may be written to
   * when it has told this one that it has read what was there ({@link arriveRemote}). Source: PTX ISA, "cp.async.bulk".
   */
  multicastBulk(to: Shared<Elem>, from: Global<Elem>, bytes: U32 | number, barrier: Shared<"u64">, blocks: U32 | number): void {
    const name = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster";
    this.emit(`${name} [${to}], [${from}], ${this.operand("u32", bytes)}, [${barrier}], ${this.#mask(blocks)}`);
  }

  /** As {@link copyBox}, to several blocks of the cluster like {@link multicastBulk}. Source: PTX ISA, "cp.async.bulk.tensor". */
  multicastBox(to: Shared<Elem>, map: TensorMapAddress, column: U32, row: U32, barrier: Shared<"u64">, blocks: U32 | number): void {
    this.require("tensorMap");
    const name = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster";
    this.emit(`${name} [${to}], [${map},{${column},${row}}], [${barrier}], ${this.#mask(blocks)}`);
  }

  #mask(blocks: U32 | number): string {
    this.require("multicast");
    return typeof blocks === "number" ? this.operand("u32", blocks) : this.narrow(blocks);
  }

  #special(name: string): U32 {
    this.require("cluster");
    return this.special(name);
  }
}

function place(elem: Elem, address: string, offset: number): string {
  return `[${address}+${offset * elemBytes[elem]}]`;
}
