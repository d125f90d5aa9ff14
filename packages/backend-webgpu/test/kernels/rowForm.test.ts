import { describe, expect, test } from "vitest";
import { columnsAtOnce, mostNibbleLanes, type RowForm, roundingLanes, rowForm } from "../../src/kernels/shared/rowForm.ts";

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

  test.each([256, mostNibbleLanes, 1024])("leave few processors idle and all run at once, with up to %i lanes", (maxLanes) => {
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
    { columns: 8192, depth: 8192, lanes: 512, turns: 4 },
    { columns: 4096, depth: 14336, lanes: 512, turns: 2 },
    { columns: 28672, depth: 4096, lanes: 512, turns: 7 },
    { columns: 4096, depth: 4096, lanes: 512, turns: 1 },
    { columns: 128256, depth: 4096, lanes: 512, turns: 21 },
  ])("are those that an H200 was fastest with: codes of four bits, $columns x $depth", ({ columns, depth, lanes, turns }) => {
    const form = packedForm(columns, depth, mostNibbleLanes);
    expect([form.lanes, form.turns]).toEqual([lanes, turns]);
  });
});
