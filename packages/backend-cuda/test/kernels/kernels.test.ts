import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createProgram } from "@centella/core";
import { fused, ops } from "@centella/core/backend";
import { gpuKernels } from "@centella/gpu-kernels";
import { expect, test } from "vitest";
import { generatePtx } from "../../src/generatePtx.ts";
import { kernelTable } from "../../src/kernels/index.ts";
import { type Gpu, gpuOf, hopper } from "../../src/kernels/shared/gpu.ts";
import type { CallTexts, KernelText } from "../../src/kernels/shared/texts.ts";
import { call, calls, f32, groupCalls, launchesOf, normedCalls, surroundedCalls } from "../texts/kernelTexts.ts";

test("kernel files are ops that take precedence over shared ones", async () => {
  const files = await readdir(fileURLToPath(new URL("../../src/kernels", import.meta.url)));
  const names = files.filter((file) => file.endsWith(".ts") && file !== "index.ts").map((file) => file.slice(0, -3));
  expect(names.filter((name) => !(name in ops) && name !== fused.name)).toEqual([]);
  expect([...kernelTable.kernels.keys(), fused.name].sort()).toEqual([...new Set([...names, ...Object.keys(gpuKernels)])].sort());
});

test("an op without a kernel is refused with the reason", () => {
  const lacking = { ...ops.relu, name: "fancy" };
  expect(kernelTable.unsupported(lacking, [f32(1)], {}, f32(1))).toBe("there is no kernel for fancy yet");
});

test("grids and blocks are ones that a device takes", () => {
  for (const each of calls) {
    for (const { grid, block, entry, ptx, args } of launchesOf(each)) {
      expect(grid[0], each.name).toBeGreaterThan(0);
      expect(grid[0], each.name).toBeLessThan(2 ** 31);
      expect([grid[1], grid[2], block[1], block[2]]).toEqual([1, 1, 1, 1]);
      expect(block[0] % 32).toBe(0);
      expect(ptx).toContain(`.visible .entry ${entry}(`);
      expect(ptx.split(".param .u64").length - 1, each.name).toBe(args.length);
    }
  }
});

test.each(["sm_90a", "sm_80"] as const)("on %s, texts that buckets share are those that each would write", (target) => {
  const gpu: Gpu = { ...hopper, target, dependentLaunch: target !== "sm_80" };
  const kept = new Map<string, KernelText>();
  let asked = 0;
  for (const each of calls) {
    const { T = 1 } = each.bucket;
    if (T % 2 === 1) continue;
    const own = JSON.stringify([each.op.name, each.inputs, each.params]);
    const texts: CallTexts = {
      textOf(key, write) {
        asked++;
        const text = kept.get(own + key) ?? write();
        kept.set(own + key, text);
        return text;
      },
    };
    for (const bucket of [each.bucket, { T: T / 2, nSeq: 1 }])
      expect(launchesOf({ ...each, bucket }, gpu, texts), each.name).toEqual(launchesOf({ ...each, bucket }, gpu));
  }
  expect(kept.size).toBeLessThan(0.7 * asked);
});

test.each([
  [8, 0, 163],
  [8, 6, 99],
  [9, 0, 227],
  [10, 0, 227],
  [12, 0, 99],
] as const)("blocks fit into the shared memory of compute capability %i.%i", (major, minor, kibibytes) => {
  const gpu = gpuOf({ name: "", computeCapability: [major, minor], multiprocessors: 84, totalBytes: 0, driverVersion: 13000 });
  const ofLargeBlocks = calls.filter(({ op }) => ["attention", "matmul", "moeMatmul"].includes(op.name));
  // A head of the cache for all heads of the queries.
  const index = (...shape: readonly number[]) => ({ dtype: "i32", shape }) as const;
  const cache = { dtype: "f16", shape: [512, 1, 384] } as const;
  const shared = [1, 64].map((tokens) =>
    call("attention", [f32(tokens, 16, 128), cache, index(tokens), index(tokens), index(1, 16), index(1), undefined], {
      scale: 1,
      blockSize: 32,
      activations: "half",
    }),
  );
  for (const each of [...(minor === 6 ? calls : ofLargeBlocks), ...shared])
    for (const { sharedBytes } of launchesOf(each, gpu)) expect(sharedBytes, each.name).toBeLessThanOrEqual(kibibytes * 1024);
});

test("few rows are multiplied by the vector kernel, many by the tiled one", () => {
  const T = { name: "T", max: 64 };
  const entries = [1, 8, 9, 64].map(
    (tokens) => launchesOf(call("matmul", [f32(T, 32), f32(16, 32)], { transposeB: true }, { T: tokens }))[0]!.entry,
  );
  expect(entries).toEqual(["matmulVector_f32_nt", "matmulVector_f32_nt", "matmulTiled_f32_nt", "matmulTiled_f32_nt"]);
});

test("products of one tensor are one launch for few rows, and read a tensor that is rounded once", () => {
  const entries = groupCalls().map((each) => [each.bucket.T, ...launchesOf(each).map(({ entry }) => entry)]);
  const tiled = ["q4_K_nt_fused", "f16_nt_fused", "q8_0_nt_fused", "q4_K_nt", "q6_K_nt_fused"].map((form) => `matmulTiled_${form}`);
  // Gate and up have enough columns for larger tiles.
  const large = tiled.map((entry) => entry.replace(/Tiled(_q4_K_nt|_q6_K_nt_fused)$/, "LargeTiles$1"));
  const rounded = ["round_q8_K", "round_f16", "round_q8_0"];
  // On tensor cores: results of one product each, by the width of their units, and the result of two products.
  const few = ["matmulFew_q4_K_q8_0", "matmulFew_f16", "matmulFew_q4_K_q6_K"];
  // Gate and up have different types here.
  const many = [
    ["decodeUnits_q4_K_q8_0", "matmulMany_f16"],
    // Weights of f16 need no decoding.
    ["matmulMany_f16"],
    ["decodeUnits_q4_K_q6_K", "matmulMany_f16"],
  ].flatMap((each) => ["roundRows_f16", ...each]);
  // With ggml's activations, exact ones, and halves; then a product of its own.
  expect(entries).toEqual([
    [1, ...rounded, "matmulSiblings"],
    [1, "matmulSiblings"],
    [1, ...few],
    [1, "matmulFew_q5_1"],
    [8, ...rounded, "matmulSiblings"],
    [8, "matmulSiblings"],
    [8, ...few],
    [8, "roundRows_f16", "matmulMixed16_q5_1"],
    [9, ...rounded, ...tiled],
    [9, ...tiled],
    [9, ...few],
    [9, "roundRows_f16", "matmulMixed16_q5_1"],
    [512, ...rounded, ...large],
    [512, ...large],
    [512, ...many],
    [512, "roundRows_f16", "matmulMixed256_q5_1"],
  ]);
});

test("texts of products have an epilogue once, whatever the number of rows of a tile", () => {
  const weight = { dtype: "q4_K", shape: [4096, 4096] } as const;
  const stores = [16, 32, 64, 256].map((rows) => {
    const each = call("matmul", [f32({ name: "T", max: 512 }, 4096), weight], { transposeB: true, activations: "half" }, { T: rows });
    const { ptx } = launchesOf(each).find(({ entry }) => entry === `matmulMixed${rows}_q4_K`)!;
    return ptx.split("st.global.f32 ").length - 1;
  });
  expect(stores[0]).toBeGreaterThan(0);
  expect(new Set(stores).size).toBe(1);
});

test("launches of products by the number of rows", () => {
  const weight = { dtype: "q4_K", shape: [4096, 14336] } as const;
  const launchAt = (rows: number, gpu = hopper) => {
    const bucket = { T: rows };
    const each = call("matmul", [f32({ name: "T", max: 2048 }, 14336), weight], { transposeB: true, activations: "half" }, bucket);
    return launchesOf(each, gpu).map(({ entry, grid, ptx }) => ({ entry, blocks: grid[0], ptx }));
  };
  const withoutWarpgroups = { ...hopper, target: "sm_90" } as const;
  const [eight, more] = [8, 32].map((rows) => launchAt(rows, withoutWarpgroups));
  // Four rows of 14336 halves fit. More take more blocks of the same text.
  expect(eight).toMatchObject([{ entry: "matmulFew_q4_K", blocks: 2 * 132 }]);
  expect(more).toMatchObject([{ entry: "matmulFew_q4_K", blocks: 8 * 132 }]);
  expect(launchAt(16, withoutWarpgroups)[0]?.ptx).toBe(more?.[0]?.ptx);
  const at = (rows: number) => launchAt(rows).map(({ entry, blocks }) => [entry, blocks]);
  // Four blocks share a tile of 128 columns.
  expect(at(1)).toEqual([["matmulFew_q4_K", 132]]);
  expect(at(2)).toEqual(at(9));
  expect(at(9)).toEqual([
    ["roundRows_f16", 16],
    ["matmulMixed16_q4_K", 128],
  ]);
  expect(at(512)).toEqual([
    ["roundRows_f16", 512],
    ["matmulMixed256_q4_K", 128],
  ]);
  expect(at(513)).toEqual([
    ["roundRows_f16", 640],
    ["decodeUnits_q4_K", 132],
    ["matmulMany_f16", 132],
  ]);
  for (const dtype of ["f16", "bf16"] as const)
    for (const rows of [9, 16, 32, 64, 128, 256, 512]) {
      const each = call("matmul", [f32(rows, 8192), { dtype, shape: [8192, 8192] }], { transposeB: true, activations: "half" });
      const multiply = rows > 64 ? `matmulMany_${dtype}` : `matmulMixed${Math.max(16, rows)}_${dtype}`;
      expect(launchesOf(each).map(({ entry }) => entry)).toEqual([`roundRows_${dtype}`, multiply]);
    }
  // Decoding and multiplying have one text for any number of rows.
  const textsAt = (rows: number) => launchAt(rows).map(({ ptx }) => ptx);
  expect(textsAt(2048).slice(1)).toEqual(textsAt(1025).slice(1));
});

test.each([
  // Numbers of row groups: a block has 8 rows of 4,096 numbers, or 16 if its copies are small.
  ["q4_K", 4096, [8, 0], { 1: 1, 8: 1, 16: 2, 17: "many" }],
  ["f16", 4096, [8, 0], { 1: 1, 8: 1, 16: 1, 17: "many" }],
  ["q4_K", 14_336, [8, 6], { 1: 1, 2: 1, 8: 4, 9: "many" }],
  // Weights that need no decoding are read once.
  ["f16", 14_336, [8, 6], { 1: 1, 2: 1, 4: "many" }],
  // Not even two rows fit.
  ["q8_0", 28_672, [8, 6], { 1: 1, 2: "many" }],
] as const)(
  "without bulk copies, launches by the number of rows: %s, depth %i, capability %o",
  (dtype, depth, computeCapability, expected) => {
    const gpu = gpuOf({ name: "", computeCapability, multiprocessors: 84, totalBytes: 0, driverVersion: 13000 });
    const decoding = dtype === "f16" ? [] : [`decodeUnits_${dtype}`];
    for (const [rows, groups] of Object.entries(expected)) {
      const each = call("matmul", [f32(Number(rows), depth), { dtype, shape: [4096, depth] }], { transposeB: true, activations: "half" });
      const launches = launchesOf(each, gpu);
      const entries = launches.map(({ entry }) => entry);
      if (groups === "many") expect(entries).toEqual(["roundRows_f16", ...decoding, "matmulManyByWarps_f16"]);
      else {
        expect(entries).toEqual([`matmulFew_${dtype}`]);
        expect(launches[0]!.grid[0]).toBe(84 * groups);
      }
    }
  },
);

test("results of three products are multiplied few rows at a time", () => {
  const program = createProgram();
  const x = program.input("x", "f32", [128, 256]);
  const [a, b, c] = ["a", "b", "c"].map((name) =>
    program.matmul(x, program.persistent(name, { dtype: "q8_0", shape: [64, 256] }), { transposeB: true, activations: "half" }),
  );
  program.output("y", program.add(program.mul(a!, b!), c!));
  expect(generatePtx(program).map(({ entry }) => entry)).toEqual(["matmulFew_q8_0"]);
});

test("weights of many columns are decoded in parts", () => {
  const launchAt = (gpu = hopper) => {
    const weight = { dtype: "q4_0", shape: [100_000, 4096] } as const;
    const each = call("matmul", [f32(1024, 4096), weight], { transposeB: true, activations: "half" });
    return launchesOf(each, gpu).map(({ entry }) => entry);
  };
  const part = ["decodeUnits_q4_0", "matmulMany_f16"];
  expect(launchAt()).toEqual(["roundRows_f16", ...part, ...part, ...part, ...part]);
  // Without products of warpgroups.
  const byWarps = ["decodeUnits_q4_0", "matmulManyByWarps_f16"];
  expect(launchAt({ ...hopper, target: "sm_90" })).toEqual(["roundRows_f16", ...byWarps, ...byWarps, ...byWarps, ...byWarps]);
});

test("only launches whose blocks fit at once let the next one start early", () => {
  const isEarly = (rows: number): boolean => launchesOf(call("silu", [f32(rows, 256)]))[0]!.ptx.includes("launch_dependents");
  expect([1, 264, 265].map(isEarly)).toEqual([true, true, false]);
});

test("a norm, its rounding and its products are one launch for few rows, and launches of their own for more", () => {
  const entries = normedCalls().map((each) => [each.bucket.T, ...launchesOf(each).map(({ entry }) => entry)]);
  const [one, four, eight, many] = [0, 4, 8, 12].map((from) => entries.slice(from, from + 4));
  const together = ["matmulNormed", "matmulNormed", "matmulFew_q4_K_normed", "matmulFew_q4_K_normed"];
  expect(one).toEqual(together.map((entry) => [1, entry]));
  const mixed = ["roundRows_f16_normed", "matmulMixed16_q4_K"];
  expect(four).toEqual([
    [4, "matmulNormed"],
    [4, "matmulNormed"],
    [4, ...mixed],
    [4, ...mixed],
  ]);
  expect(eight).toEqual([
    [8, "rmsNorm", "round_q8_K", "matmulSiblings"],
    [8, "rmsNorm_fused", "round_q8_K", "matmulSiblings"],
    [8, ...mixed],
    [8, ...mixed],
  ]);
  expect(many![0]).toEqual([512, "rmsNorm", "round_q8_K", "matmulTiled_q4_K_nt_fused", "matmulTiled_q4_K_nt_fused"]);
  expect(many![3]).toEqual([512, "roundRows_f16_normed", "matmulMixed256_q4_K"]);
});

test("elementwise calls around a norm, a softmax or a reduction are part of its launches", () => {
  const found = surroundedCalls().map((each) => launchesOf(each).map(({ entry }) => entry));
  const rows = ["rmsNorm", "layerNorm_bias", "softmax", "logSoftmax", "sum", "mean", "max", "min"].flatMap((name) => [name, name]);
  const [few, many] = [found.slice(0, 16), found.slice(16, 32)];
  // These go along the first axis.
  expect(few).toEqual(rows.map((name) => [["min", "logSoftmax"].includes(name) ? `${name}_columns_fused` : `${name}_fused`]));
  // Of long rows what is before a reduction is computed in the shares, what is behind it where these are joined.
  expect(many.filter((entries) => entries.length === 2)).toEqual(
    ["sum", "mean", "max"].flatMap((name) => [
      [`${name}_share`, `${name}_join_fused`],
      [`${name}_share_fused`, `${name}_join`],
    ]),
  );
});

test("every refusal gives a reason", () => {
  const output = f32(1);
  const head = { name: "D", max: 32 };
  expect(kernelTable.unsupported(ops.kvWrite, [f32(4, 1, 64), f32(1, 1, head), f32(1, 1, head)], {}, output)).toBe(
    "no kernel for a symbolic head size",
  );
  expect(kernelTable.unsupported(ops.relu, [f32(2 ** 16, 2 ** 16)], {}, f32(2 ** 16, 2 ** 16))).toBe(
    "a tensor of more than 2147483647 elements",
  );
});
