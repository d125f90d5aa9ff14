import type { TensorSpec } from "@centella/core";
import type { KernelLimits } from "../../device/capabilities.ts";
import { defineDispatch, input } from "../../wgsl/module.ts";
import type { Binding, Dispatch } from "../shared/kernel.ts";
import { count } from "../shared/shape.ts";
import type { GroupPlace, TileRows } from "../shared/tileRows.ts";

/** The rows of the results of a call, each of a token and one of its experts. */
export interface ExpertRows {
  /** The ids of experts, input 2: an expert for each row. */
  readonly ids: TensorSpec;
  /** Number of experts. Results of ids from here on are 0; as unsigned numbers, negative ids are among these. */
  readonly experts: number;
  /** Rows that share a row of activations. */
  readonly sharers: number;
}

/** Marks slots without a row, and tiles without slots. */
const none = "0xffffffffu";

/** The most experts by which rows are sorted. Their counts fit the memory of every device's workgroups. */
export const mostExperts = 1024;

/** Lanes of the workgroup that sorts, at most. */
const mostLanes = 1024;

const ids = input("ids", 2, "i32");

/** Rows in the order of results. */
export function rowsByToken({ experts, sharers }: ExpertRows): TileRows {
  return {
    bindings: [ids],
    uniforms: { sharers: "u32", experts: "u32" },
    tilesIn: (m, rows) => Math.ceil(m / rows),
    valuesIn: () => ({ sharers, experts }),
    tiles: () => "p.m",
    start: (place, n) => [`let expert = bitcast<u32>(ids[${place.row}]);`, ...zerosText("expert >= p.experts", place, place.row, n)],
    isLookedUp: false,
    result: (i) => i,
    source: (i) => `(${i}) / p.sharers`,
    sourceOfResult: (i) => `${i} / p.sharers`,
    column: (j, n) => `(expert * ${n} + ${j})`,
  };
}

/** Memory in which rows are sorted by expert. */
export interface SlotMemory {
  /** The row of each slot. */
  readonly slots: Binding;
  /** The expert of each tile of slots. */
  readonly tiles: Binding;
}

/** Rows in slots that {@link sortRows} fills. */
export function rowsByExpert({ experts, sharers }: ExpertRows, { slots, tiles }: SlotMemory): TileRows {
  const rowOf = (i: string): string => `${slots.name}[${i}]`;
  return {
    bindings: [slots, tiles],
    uniforms: { sharers: "u32", experts: "u32", tileCount: "u32" },
    tilesIn: (m, rows) => mostTiles(m, experts, rows),
    valuesIn: (m, rows) => ({ sharers, experts, tileCount: mostTiles(m, experts, rows) }),
    tiles: () => "p.tileCount",
    start: (place, n) => [
      `let expert = ${tiles.name}[${place.tile}];`,
      `if (expert == ${none}) { return; }`,
      ...zerosText("expert == p.experts", place, rowOf(`${place.row} + at / ${place.columns}u`), n),
    ],
    isLookedUp: true,
    result: rowOf,
    // A row that no slot has is beyond all of them.
    source: (i) => `min(${rowOf(i)}, p.m - 1u) / p.sharers`,
    sourceOfResult: (i) => `${i} / p.sharers`,
    column: (j, n) => `(expert * ${n} + ${j})`,
  };
}

/** Sets the workgroup's results to 0 and ends it, where the rows have no expert. `row` is that of element `at` of the part. */
function zerosText(condition: string, { column, rows, columns, lanes: own }: GroupPlace, row: string, n: string): readonly string[] {
  return [
    `if (${condition}) {`,
    `for (var at = lane; at < ${rows * columns}u; at += ${own}u) {`,
    `let i = ${row}; let j = ${column} + at % ${columns}u;`,
    `if (i < p.m && j < ${n}) { y[i * ${n} + j] = 0.0; }`,
    "}",
    "return;",
    "}",
  ];
}

/** Most tiles of `m` rows: each expert, and rows without one, may have a tile that is not full. */
export function mostTiles(m: number, experts: number, rows: number): number {
  return Math.floor(m / rows) + Math.min(m, experts + 1);
}

/**
 * Gives each row a slot: those of an expert are neighbours, from a multiple of the rows of a tile on. One workgroup counts the rows of each
 * expert, then hands out slots in any order, on which no result depends. `rowsInTiles` gives the rows of a tile in a run with `m` rows, and 1
 * for runs whose rows are not sorted.
 */
export function sortRows(
  { ids: spec, experts }: ExpertRows,
  { slots, tiles }: SlotMemory,
  rowsInTiles: (m: number) => number,
  { maxLanes }: KernelLimits,
): Dispatch {
  const lanes = Math.min(mostLanes, maxLanes);
  const kinds = experts + 1;
  const forEachRow = (text: string): readonly string[] => [
    `for (var row = lane; row < p.m; row += ${lanes}u) { let kind = min(bitcast<u32>(ids[row]), ${experts}u); ${text} }`,
  ];
  return defineDispatch({
    bindings: [ids, { ...slots, access: "read_write" }, { ...tiles, access: "read_write" }],
    uniforms: { m: "u32", rows: "u32", tileCount: "u32" },
    lanes,
    declarations: [
      ...["counts", "next"].map((name) => `var<workgroup> ${name}: array<atomic<u32>, ${kinds}>;`),
      "fn tilesOf(kind: u32) -> u32 { return (atomicLoad(&counts[kind]) + p.rows - 1u) / p.rows; }",
    ],
    body: [
      `for (var kind = lane; kind < ${kinds}u; kind += ${lanes}u) { atomicStore(&counts[kind], 0u); }`,
      "workgroupBarrier();",
      ...forEachRow("atomicAdd(&counts[kind], 1u);"),
      "workgroupBarrier();",
      `for (var kind = lane; kind < ${kinds}u; kind += ${lanes}u) {`,
      "var start = 0u;",
      "for (var earlier = 0u; earlier < kind; earlier++) { start += tilesOf(earlier); }",
      "let end = start + tilesOf(kind);",
      "atomicStore(&next[kind], start * p.rows);",
      `for (var tile = start; tile < end; tile++) { ${tiles.name}[tile] = kind; }`,
      `for (var slot = start * p.rows + atomicLoad(&counts[kind]); slot < end * p.rows; slot++) { ${slots.name}[slot] = ${none}; }`,
      `if (kind == ${experts}u) { for (var tile = end; tile < p.tileCount; tile++) { ${tiles.name}[tile] = ${none}; } }`,
      "}",
      "workgroupBarrier();",
      ...forEachRow(`${slots.name}[atomicAdd(&next[kind], 1u)] = row;`),
    ].join("\n"),
    sizeIn(dims) {
      const m = count(spec.shape, dims);
      const rows = rowsInTiles(m);
      return { groups: rows === 1 ? 0 : 1, values: { m, rows, tileCount: mostTiles(m, experts, rows) } };
    },
  });
}
