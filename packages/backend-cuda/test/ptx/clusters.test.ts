import { ArgumentError } from "@centella/core";
import type { U32 } from "@centella/gpu-kernels";
import { describe, expect, test } from "vitest";
import type { PtxEmitter } from "../../src/ptx/emitter.ts";
import { PtxBuilder } from "../../src/ptx/index.ts";
import { assemble, assembler } from "../texts/assemble.ts";
import { runOn } from "./runKernel.ts";

const x = Float32Array.from({ length: 64 }, (_, i) => i * i);
const two = { grid: [2, 1, 1], target: "sm_90a" } as const;
const seeds = [1, 2, 3, 4, 5, 6] as const;

/** Runs a kernel of two blocks of 32 threads, in each order of the blocks the same way. */
async function ran(body: (k: PtxEmitter) => void, words = 64): Promise<readonly number[]> {
  const all = await Promise.all(seeds.map((seed) => runOn(x, body, { ...two, words, seed })));
  for (const each of all) expect(each).toEqual(all[0]);
  return [...new Uint32Array(all[0]!.buffer)];
}

/** Expects a fault whatever the order of the blocks. */
async function finds(body: (k: PtxEmitter) => void, message: RegExp): Promise<void> {
  for (const seed of seeds) await expect(runOn(x, body, { ...two, seed })).rejects.toThrow(message);
}

/** Stores a word for each thread of the grid. */
function store(k: PtxEmitter, value: U32): void {
  k.st("u32", k.at("u32", k.pointer("y", "u32"), k.mad(k.block(), 32, k.thread())), value);
}

test("a block knows its place in its cluster, and the cluster its place in the grid", async () => {
  const body = (k: PtxEmitter): void => {
    k.setCluster(2, 1, 3);
    const values = [
      ...(["x", "y", "z"] as const).flatMap((axis) => [
        k.clusterIndex(axis),
        k.clusters(axis),
        k.blockOfCluster(axis),
        k.blocksOfCluster(axis),
      ]),
      k.clusterRank(),
      k.clusterBlocks(),
    ];
    const block = k.mad(k.mad(k.block("z"), k.blocks("y"), k.block("y")), k.blocks("x"), k.block("x"));
    const to = k.at("u32", k.pointer("y", "u32"), k.mul(block, values.length));
    k.if(k.compare("eq", k.thread(), 0), () => {
      for (const [i, value] of values.entries()) k.st("u32", to, value, i);
    });
  };
  const grid = [4, 2, 3] as const;
  const y = new Uint32Array((await runOn(x, body, { grid, words: 14 * 24, target: "sm_90" })).buffer);
  const at = (bx: number, by: number, bz: number): readonly number[] => [
    ...y.slice(14 * (bx + 4 * (by + 2 * bz)), 14 * (bx + 4 * (by + 2 * bz) + 1)),
  ];
  expect(at(3, 1, 2)).toEqual([1, 2, 1, 2, 1, 2, 0, 1, 0, 1, 2, 3, 5, 6]);
  expect(at(2, 0, 1)).toEqual([1, 2, 0, 2, 0, 2, 0, 1, 0, 1, 1, 3, 2, 6]);
  await expect(runOn(x, body, { grid: [3, 2, 3], target: "sm_90" })).rejects.toThrow("CUDA_ERROR_INVALID_CLUSTER_SIZE");
});

describe("shared memory of another block", () => {
  type Step = "first barrier" | "release" | "wait" | "last barrier" | "rank" | "warp's arrival";

  /** Each thread writes to its own block, and reads what the same thread of the other block wrote there. */
  function read(k: PtxEmitter, missing?: Step): void {
    k.setCluster(2);
    const cell = k.sharedAt("u32", k.sharedMemory("u32", 32), k.thread());
    const rank = k.clusterRank();
    k.st("u32", cell, k.mad(rank, 100, k.thread()));
    if (missing === "wait") {
      k.arriveCluster();
      k.st("u32", cell, k.mad(rank, 100, k.thread()));
      k.waitCluster();
    } else if (missing === "release") {
      k.arriveCluster("relaxed");
      k.waitCluster();
    } else if (missing === "warp's arrival") k.ifUniform(k.compare("eq", rank, 0), () => k.syncCluster());
    else if (missing !== "first barrier") k.syncCluster();
    const other = k.remote(cell, missing === "rank" ? k.add(rank, 1) : k.xor(rank, 1));
    const value = k.ldRemote("u32", other);
    if (missing !== "last barrier") k.syncCluster();
    store(k, value);
  }

  test("is read between two barriers", async () => {
    expect(await ran(read)).toEqual([...Array(32).keys()].map((i) => i + 100).concat([...Array(32).keys()]));
  });

  test.each<readonly [Step, RegExp]>([
    ["first barrier", /block \d of the cluster, which may not run yet/],
    ["release", /race: byte \d+ of shared memory was written by another thread/],
    ["wait", /race/],
    ["last barrier", /block \d of the cluster(, which has ended| may end while thread .* touches its memory)/],
    ["rank", /block 2 of a cluster of 2/],
    ["warp's arrival", /which may not run yet|race/],
  ])("without the right %s", async (missing, message) => {
    await finds((k) => read(k, missing), message);
  });

  test("is written with vectors, and added to by all", async () => {
    const body = (k: PtxEmitter, isSynchronous = true): void => {
      k.setCluster(2);
      const [cells, sum, total] = [k.sharedMemory("u32", 4), k.sharedMemory("u32", 1), k.sharedMemory("f32", 1)];
      const [rank, other] = [k.clusterRank(), k.xor(k.clusterRank(), 1)];
      const isFirst = k.compare("eq", k.thread(), 0);
      k.if(isFirst, () => {
        k.st("u32", sum, k.constant("u32", 1000));
        k.st("f32", total, k.constant("f32", 0.5));
      });
      k.syncCluster();
      const words = [1, 2, 3, 4].map((i) => k.mad(rank, 10, i));
      k.if(isFirst, () => k.stRemoteVector("u32", k.remote(cells, other), words));
      k.addRemote(k.remote(sum, 0), k.thread());
      k.addRemote(k.remote(total, 1), k.constant("f32", 0.25));
      if (isSynchronous) k.syncCluster();
      const [third, fourth] = k.ldRemoteVector("u32", k.remote(cells, rank), 2, 2);
      const numbers = [third!, fourth!, k.ldRemote("u32", k.remote(sum, 0)), k.bitcast("u32", k.ldRemote("f32", k.remote(total, 1)))];
      k.syncCluster();
      k.if(isFirst, () => k.stVector("u32", k.at("u32", k.pointer("y", "u32"), k.mul(rank, 4)), numbers));
    };
    const total = new Uint32Array(Float32Array.of(16.5).buffer)[0]!;
    expect(await ran(body, 8)).toEqual([13, 14, 1992, total, 3, 4, 1992, total]);
    await finds((k) => body(k, false), /race|unwritten/);
  });
});

describe("the cluster's barrier", () => {
  const faults: readonly (readonly [string, RegExp, (k: PtxEmitter) => void])[] = [
    [
      "a second arrival",
      /arrives at the cluster's barrier again before it has waited/,
      (k) => {
        k.arriveCluster();
        k.arriveCluster();
      },
    ],
    ["a wait without an arrival", /waits at the cluster's barrier, where it has not arrived/, (k) => k.waitCluster()],
    [
      "a warp that waits for its block meanwhile",
      /a barrier that 32 of 64 threads reach/,
      (k) =>
        k.ifUniform(
          k.compare("lt", k.thread(), 32),
          () => k.sync(),
          () => k.syncCluster(),
        ),
    ],
    ["lanes that do not come together", /lanes of a warp/, (k) => k.ifUniform(k.compare("lt", k.thread(), 7), () => k.syncCluster())],
  ];
  test.each(faults)("with %s", async (_, message, body) => {
    const inCluster = (k: PtxEmitter): void => {
      k.setCluster(2);
      body(k);
    };
    await expect(runOn(x, inCluster, { ...two, threads: 64 })).rejects.toThrow(message);
  });

  test("does not wait for threads that have ended", async () => {
    const body = (k: PtxEmitter): void => {
      k.setCluster(2);
      k.ifUniform(k.compare("eq", k.clusterRank(), 0), () => k.syncCluster());
      store(k, k.clusterRank());
    };
    expect((await ran(body))[63]).toBe(1);
  });
});

describe("a barrier of another block", () => {
  type Step = "fence" | "cluster barrier" | "scope" | "wait" | "other fence" | "end";

  /** The second block sends each lane's number to the first one, and arrives at its barrier. */
  function sent(k: PtxEmitter, missing?: Step): void {
    k.setCluster(2);
    const [cell, barrier] = [k.sharedAt("u32", k.sharedMemory("u32", 32), k.thread()), k.sharedMemory("u64", 1)];
    const isReceiver = k.compare("eq", k.clusterRank(), 0);
    k.if(k.compare("eq", k.thread(), 0), () => {
      k.initBarrier(barrier, 32);
      if (missing === "other fence") k.fenceAsyncProxy();
      else if (missing !== "fence") k.fenceBarriers();
    });
    // Shows that the blocks run, and the barriers that are fenced.
    k.arriveCluster("relaxed");
    if (missing !== "cluster barrier") k.waitCluster();
    k.sync();
    k.ifUniform(
      isReceiver,
      () => {
        if (missing !== "wait" && missing !== "end")
          k.waitBarrier(barrier, k.constant("u32", 0), missing === "scope" ? "block" : "cluster");
        if (missing !== "end") store(k, k.ld("u32", cell));
      },
      () => {
        k.stRemote("u32", k.remote(cell, 0), k.mad(k.thread(), 3, 7));
        k.arriveRemote(k.remote(barrier, 0));
        store(k, k.thread());
      },
    );
  }

  test("announces what was written before", async () => {
    expect((await ran(sent)).slice(0, 32)).toEqual(Array.from({ length: 32 }, (_, i) => 3 * i + 7));
  });

  test.each<readonly [Step, RegExp]>([
    ["fence", /without a fence and a cluster barrier that show it/],
    ["other fence", /without a fence and a cluster barrier that show it/],
    ["cluster barrier", /which may not run yet/],
    ["scope", /race/],
    ["wait", /unwritten|race|which has ended/],
    ["end", /may end while|which has ended/],
  ])("without the right %s", async (missing, message) => {
    await finds((k) => sent(k, missing), message);
  });
});

describe("copies to several blocks", () => {
  type Step = "mask" | "wide mask" | "fence" | "other block's fence" | "cluster barrier" | "bytes" | "arrival";
  const bytes = 128;

  /** Rounds of a copy by the first block to both: what is copied in the second round is written to y. */
  function copied(k: PtxEmitter, missing?: Step): void {
    k.setCluster(2);
    const buffer = k.sharedMemory("f32", 32, 128);
    const [full, empty] = [k.sharedMemory("u64", 1), k.sharedMemory("u64", 1)];
    const [lane, x] = [k.thread(), k.pointer("x", "f32")];
    const [isFirst, isSender] = [k.compare("eq", lane, 0), k.compare("eq", k.clusterRank(), 0)];
    const blocks = missing === "mask" ? 1 : missing === "wide mask" ? 7 : 3;
    k.if(isFirst, () => {
      k.initBarrier(full, 1);
      k.initBarrier(empty, 64);
      if (missing === "other block's fence") k.if(isSender, () => k.fenceBarriers());
      else if (missing !== "fence") k.fenceBarriers();
    });
    if (missing === "cluster barrier") k.sync();
    else k.syncCluster();
    for (const round of [0, 1]) {
      const parity = k.constant("u32", round);
      k.if(isFirst, () => k.expectBytes(full, missing === "bytes" ? bytes / 2 : bytes));
      k.if(k.and(isFirst, isSender), () => {
        if (round > 0 && missing !== "arrival") k.waitBarrier(empty, k.constant("u32", 0), "cluster");
        // A mask is a constant or a register.
        k.multicastBulk(buffer, k.at("f32", x, 32 * round), bytes, full, round > 0 ? k.constant("u32", blocks) : blocks);
      });
      k.waitBarrier(full, parity);
      const value = k.convert("u32", k.ld("f32", k.sharedAt("f32", buffer, lane)));
      if (round === 0) k.arriveRemote(k.remote(empty, 0));
      else store(k, value);
    }
  }

  test("land at the same place of each, and complete the barrier of each", async () => {
    const second = [...x.subarray(32)];
    expect(await ran(copied)).toEqual([...second, ...second]);
  });

  test.each<readonly [Step, RegExp]>([
    ["mask", /a wait for copies that never end|has ended/],
    ["wide mask", /a copy to blocks 111 \(mask\) of a cluster of 2/],
    ["fence", /a copy before the fence that shows it its barrier/],
    ["other block's fence", /without a fence and a cluster barrier that show it/],
    ["cluster barrier", /which may not run yet/],
    ["bytes", /a wait for copies that never end/],
    ["arrival", /race|while a copy writes there|a wait for copies that never end/],
  ])("without the right %s", async (missing, message) => {
    await finds((k) => copied(k, missing), message);
  });

  test("may be boxes of a matrix", async () => {
    const words = Uint32Array.from({ length: 8 * 32 }, (_, i) => i);
    const body = (k: PtxEmitter): void => {
      k.setCluster(2);
      const [box, barrier] = [k.sharedMemory("u32", 8 * 32, 1024), k.sharedMemory("u64", 1)];
      const isFirst = k.compare("eq", k.thread(), 0);
      k.if(isFirst, () => {
        k.initBarrier(barrier, 1);
        k.fenceBarriers();
        k.expectBytes(barrier, 8 * 128);
      });
      k.syncCluster();
      k.if(k.and(isFirst, k.compare("eq", k.clusterRank(), 1)), () => {
        const zero = k.constant("u32", 0);
        k.multicastBox(box, k.tensorMap("boxes"), zero, zero, barrier, 3);
      });
      k.waitBarrier(barrier, k.constant("u32", 0));
      // The last row, whose pieces are in reverse order.
      store(k, k.ld("u32", k.sharedAt("u32", box, k.add(k.thread(), 7 * 32))));
    };
    const boxes = { columns: 64, rows: 8, boxRows: 8 };
    const y = await runOn(new Float32Array(words.buffer), body, { ...two, words: 64, maps: { boxes } });
    const row = Array.from({ length: 32 }, (_, i) => 7 * 32 + (i ^ 28));
    expect([...new Uint32Array(y.buffer)]).toEqual([...row, ...row]);
  });
});

describe("the builder", () => {
  test("refuses what a device lacks, clusters that are too large, and barriers that some threads skip", () => {
    expect(() => new PtxBuilder("k", [], 32).setCluster(2)).toThrow("cluster needs sm_90");
    const k = new PtxBuilder("k", ["x"], 32, "sm_90");
    expect(() => k.setCluster(9)).toThrow(ArgumentError);
    expect(() => k.setCluster(2, 0)).toThrow("expected the cluster to be three whole numbers from 1 whose product is at most 8");
    expect(() => k.if(k.compare("eq", k.thread(), 0), () => k.syncCluster())).toThrow("syncCluster() inside divergent flow");
    const cell = k.sharedMemory("u64", 2, 128);
    expect(() => k.multicastBulk(cell, k.pointer("x", "u64"), 16, cell, 3)).toThrow("multicast needs sm_90a");
  });

  // CI has no ptxas; the interpreter runs the same text.
  test.skipIf(assembler === undefined)("writes what ptxas assembles (needs ptxas)", async () => {
    const k = new PtxBuilder("all", ["x", "y"], 64, "sm_90a", ["map"]);
    k.setCluster(2, 2);
    const [cells, barrier] = [k.sharedMemory("u32", 256, 128), k.sharedMemory("u64", 1)];
    const [rank, isFirst] = [k.clusterRank(), k.compare("eq", k.thread(), 0)];
    k.if(isFirst, () => {
      k.initBarrier(barrier, 1);
      k.fenceBarriers();
    });
    k.arriveCluster("relaxed");
    k.waitCluster();
    k.if(isFirst, () => {
      k.multicastBulk(cells, k.pointer("x", "u32"), 128, barrier, 3);
      k.multicastBox(cells, k.tensorMap("map"), rank, rank, barrier, rank);
      k.arriveRemote(k.remote(barrier, rank));
    });
    k.waitBarrier(barrier, rank, "cluster");
    const other = k.remote(cells, k.xor(rank, 1));
    const values = [...k.ldRemoteVector("u32", other), ...k.ldRemoteVector("u32", other, 4, 2), k.ldRemote("u32", other, 7)];
    values.push(k.clusterIndex("y"), k.clusters("z"), k.blockOfCluster(), k.blocksOfCluster("y"), k.clusterBlocks());
    k.stRemoteVector("u32", other, values.slice(0, 4));
    k.stRemote(
      "u32",
      other,
      values.slice(4).reduce((a, b) => k.add(a, b)),
    );
    k.addRemote(other, rank);
    k.addRemote(k.remote(k.sharedAs("f32", cells), 0), k.constant("f32", 1));
    // Where threads differ, barriers are not aligned.
    k.if(
      isFirst,
      () => k.arriveCluster(),
      () => k.arriveCluster(),
    );
    k.waitCluster();
    k.st("u32", k.pointer("y", "u32"), k.ld("u32", cells));
    expect(await assemble({ ptx: k.text(), entry: k.entry, sharedBytes: 0 }, "sm_90a")).toMatchObject({ said: undefined });
  });
});
