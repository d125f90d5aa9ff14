import { type Backend, createProgram, type Program } from "@centella/core";
import type { QuantizedType } from "@centella/core/backend";
import { isQuantizable, quantize } from "@centella/quant";
import { expectEqual } from "../compare.ts";
import { type ConformanceTest, NotApplicable, programTest } from "../conformanceTest.ts";
import { uniform } from "../data.ts";
import { blockTypes } from "../opCases.ts";
import { withPlan } from "./scenario.ts";

const types = blockTypes.filter((type) => isQuantizable(type)) as readonly QuantizedType[];

/** Rows whose values are random, or halfway between codes of 4, 5 and 8 bits, with zeros of both signs, and of all sizes that an f16 scale has. */
function rowsOf(count: number, columns: number): Float32Array {
  const values = uniform(count * columns, count * columns);
  return values.map((value, i) => {
    const block = Math.floor(i / 32);
    const place = i % 32;
    switch (block % 6) {
      case 0:
        return value;
      case 1:
        return place === 7 ? 127 : Math.trunc(127 * value) + 0.5;
      case 2:
        return place === 3 ? -8 : Math.trunc(7 * value) + 0.5;
      case 3:
        return place === 31 ? 16 : place === 30 ? -15 : Math.trunc(15 * value) + 0.5;
      case 4:
        return place % 2 === 0 ? -0 : 0;
      default:
        return value * 2 ** ((block % 40) - 25);
    }
  });
}

function quantised(dtype: QuantizedType, columns: number): Program {
  const program = createProgram();
  program.output("y", program.quantize(program.input("x", "f32", [program.dim("T", 7), columns]), { dtype }));
  return program;
}

/** @throws {NotApplicable} if the backend quantises to no type */
async function exactBlocks(backend: Backend, columns: number): Promise<void> {
  let tested = 0;
  for (const dtype of types.filter((type) => columns % 256 === 0 || (!type.includes("_K") && type !== "iq4_xs"))) {
    const program = quantised(dtype, columns);
    const isRefused = await withPlan(backend, program, {}, async (plan) => {
      for (const count of [0, 1, 7]) {
        const x = rowsOf(count, columns);
        const { y } = plan.run({ x });
        const got = await y!.data();
        y!.dispose();
        expectEqual(`${backend.name} ${dtype} of ${count} rows of ${columns}`, got, quantize(dtype, x));
      }
    }).then(
      () => false,
      (error: unknown) => {
        if (error instanceof NotApplicable) return true;
        throw error;
      },
    );
    if (!isRefused) tested++;
  }
  if (tested === 0) throw new NotApplicable(`${backend.name} does not quantise`);
}

/** Blocks that backends write are those of `@centella/quant` bit for bit. */
export const quantisedPrograms: readonly ConformanceTest[] = [32, 256, 320].map((columns) =>
  programTest(`quantised rows of ${columns} are exact`, (backend) => exactBlocks(backend, columns)),
);
