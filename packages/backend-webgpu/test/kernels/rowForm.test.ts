import { describe, expect, test } from "vitest";
import { columnsAtOnce, type RowForm, roundingLanes, rowForm } from "../../src/kernels/shared/rowForm.ts";

/** Processors of the device on which forms were measured, and lanes that each has room for. */
const processors = 132;
const lanesAtOnce = 2048;

/** The form of one row by `columns` weights of a depth, multiplied as packed codes in workgroups of up to `maxLanes` lanes. */
function packedForm(columns: number, depth: number, maxLanes: number): RowForm {
  const stageLanes = roundingLanes(columns, { depth, maxLanes, subgroup: 32 });
  return rowForm({ columns, depth, rows: 1, products: 1, reads: "codes", stageLanes, subgroup: 32 });
}

function groupsOf(columns: number, form: RowForm): number {
  return Math.ceil(columns / (columnsAtOnce(form) * form.turns));
}

describe("workgroups of packed products of one row", () => {
  const columnCounts = [2048, 3000, 4096, 5000, 6144, 8192, 11008, 14336, 28672, 32000, 50304, 128256, 151936];
  const depths = [1024, 2048, 4096, 5120, 8192, 14336, 28672];

  test.each([256, 512, 1024])("leave few processors idle and all run at once, with up to %i lanes", (maxLanes) => {
    for (const columns of columnCounts) {
      for (const depth of depths) {
        const form = packedForm(columns, depth, maxLanes);
        const groups = groupsOf(columns, form);
        const what = `${columns} x ${depth}: ${groups} workgroups of ${form.lanes} lanes`;
        expect(form.lanes, what).toBeLessThanOrEqual(maxLanes);
        if (form.lanes > 128) expect(groups, what).toBeGreaterThanOrEqual(processors / 2);
        expect(groups * form.lanes, what).toBeLessThanOrEqual(processors * lanesAtOnce);
      }
    }
  });

  test.each([
    // Times of q4_K on 2026-11-30, each call a dispatch, beside other forms: 17.6 and 21.2 µs, 18.2 and 21.5, 44.5 and 47.8 (512 lanes).
    { columns: 8192, depth: 8192, lanes: 1024, perLane: 1, turns: 2 },
    { columns: 4096, depth: 14336, lanes: 1024, perLane: 1, turns: 1 },
    { columns: 28672, depth: 8192, lanes: 1024, perLane: 1, turns: 7 },
    // 26.0 and 26.7, 9.0 and 10.0 (one column for each lane).
    { columns: 28672, depth: 4096, lanes: 512, perLane: 2, turns: 4 },
    { columns: 6144, depth: 4096, lanes: 512, perLane: 2, turns: 1 },
    // 9.7 and 10.3 (1,024 lanes), 8.4 and 8.1 (two columns), 83.8 and 86.2 (31 turns).
    { columns: 2048, depth: 8192, lanes: 512, perLane: 1, turns: 1 },
    { columns: 4096, depth: 4096, lanes: 512, perLane: 1, turns: 1 },
    { columns: 128256, depth: 4096, lanes: 512, perLane: 1, turns: 21 },
  ])("are those that an H200 was fastest with, or nearly: $columns x $depth", ({ columns, depth, lanes, perLane, turns }) => {
    const form = packedForm(columns, depth, 1024);
    expect([form.lanes, form.columnsPerLane, form.turns]).toEqual([lanes, perLane, turns]);
  });
});
