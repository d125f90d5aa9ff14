import { createProgram, type DType } from "@centella/core";
import { describe, expect, test } from "vitest";
import type { Capabilities } from "../../src/device/capabilities.ts";
import type { Dispatch } from "../../src/kernels/shared/kernel.ts";
import { Dispatches, h200 } from "../wgsl/kernelTexts.ts";

const [experts, columns, depth, chosen] = [16, 400, 512, 2];

/** How rows of a run are multiplied: rows of a tile, by what, and workgroups for each tile. */
interface Chosen {
  readonly rows: number;
  readonly by: "matrices" | "lanes";
  readonly groups: number;
}

/** The dispatches of a product with experts for up to 4,096 tokens. */
function dispatchesFor(dtype: DType, activations: "ggml" | "f32", capabilities: Capabilities): readonly Dispatch[] {
  const program = createProgram();
  const tokens = program.dim("T", 4096);
  const x = program.input("x", "f32", [tokens, depth]);
  const weight = program.persistent("w", { dtype, shape: [experts, columns, depth] });
  program.output("y", program.moeMatmul(x, weight, program.input("ids", "i32", [tokens, chosen]), { activations }));
  return new Dispatches(capabilities).ofProgram(program).map(({ dispatch }) => dispatch);
}

/** What a run with `T` tokens does. Of the dispatches that write results, it has one. */
function chosenBy(dispatches: readonly Dispatch[], T: number): Chosen {
  const sizes = dispatches.map((dispatch) => ({ dispatch, ...dispatch.sizeIn({ T }) })).filter(({ groups }) => groups > 0);
  const own = sizes.filter(({ dispatch }) => dispatch.bindings.some(({ resource }) => resource.kind === "output"));
  expect(own).toHaveLength(1);
  const { dispatch, groups, values } = own[0]!;
  const sorting = sizes.find(({ dispatch: { bindings } }) => bindings.some(({ name, access }) => name === "slots" && access !== "read"));
  const by = dispatch.code.includes("subgroupMatrixMultiply") ? "matrices" : "lanes";
  const halving = sizes.some(({ dispatch: { bindings } }) =>
    bindings.some(({ element, access }) => element === "vec4u" && access !== "read"),
  );
  expect(halving || by === "lanes").toBe(true);
  if (sorting === undefined) return { rows: 1, by, groups: groups / T };
  // Both count the same tiles.
  expect(sorting.values.tileCount).toBe(values.tileCount);
  return { rows: sorting.values.rows!, by, groups: groups / values.tileCount! };
}

describe("products with experts choose their form by the rows of each expert on average", () => {
  const apart: Capabilities = { ...h200, subgroupMatrices: [] };

  test("codes are multiplied by lanes that decode a column for 16 rows", () => {
    const dispatches = dispatchesFor("q4_K", "ggml", apart);
    expect([1, 47, 48, 255, 256, 4096].map((tokens) => chosenBy(dispatches, tokens).rows)).toEqual([1, 1, 16, 16, 16, 16]);
  });

  test("floats are multiplied in tiles of 64 rows from 32 rows on", () => {
    const dispatches = dispatchesFor("q4_K", "f32", h200);
    expect([1, 48, 255, 256, 4096].map((tokens) => chosenBy(dispatches, tokens))).toMatchObject([
      { rows: 1 },
      { rows: 16 },
      { rows: 16 },
      { rows: 64, by: "lanes", groups: 4 },
      { rows: 64, by: "lanes", groups: 4 },
    ]);
  });

  test.each([
    { dtype: "f16", first: 256, from: "32 rows" },
    { dtype: "q4_K", first: 384, from: "48 rows, before which codes are faster," },
  ] as const)(
    "matrices of subgroups multiply $dtype from $from on in tiles of 64 rows, and of 128 from 128 rows on",
    ({ dtype, first }) => {
      const dispatches = dispatchesFor(dtype, "ggml", h200);
      const all = [1, 48, first - 1, first, 1023, 1024, 4096].map((tokens) => chosenBy(dispatches, tokens));
      expect(all.map(({ rows, by }) => [rows, by])).toEqual([
        [1, "lanes"],
        [16, "lanes"],
        [16, "lanes"],
        [64, "matrices"],
        [64, "matrices"],
        [128, "matrices"],
        [128, "matrices"],
      ]);
      expect(all.slice(3).map(({ groups }) => groups)).toEqual([4, 4, 4, 4]);
    },
  );

  test("matrices multiply no floats in mode f32, and no weights of f32", () => {
    for (const [dtype, activations] of [
      ["q4_K", "f32"],
      ["f32", "ggml"],
    ] as const)
      expect(chosenBy(dispatchesFor(dtype, activations, h200), 4096).by).toBe("lanes");
  });
});
