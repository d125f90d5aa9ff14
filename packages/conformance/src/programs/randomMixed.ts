import type { Backend, DimValues, Shape } from "@centella/core";
import { elementAt, type Unsupported } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import type { RandomProgram } from "./random.ts";
import { Draft } from "./randomDraft.ts";
import { type Family, tensorFamilies } from "./randomFamilies.ts";
import { jumpFamilies } from "./randomJumps.ts";
import { type Candidate, drawCall, drawOther, impossible, type Known } from "./randomOps.ts";
import { stateFamilies } from "./randomStates.ts";
import { expectExplained, expectLikeReference } from "./scenario.ts";

/**
 * A program of 1 to 40 random calls of all families, without ops for which the backend has no kernel. The same seed and the same answers
 * of `unsupported` give the same program. It adds to {@link randomProgram}: convolutions, pools, norms, attention over a paged cache in
 * f32, f16 or q8_0, recurrent layers, experts, quantised products and tables, orders and indices, integers, comparisons, casts, movement
 * and two symbolic dims. Each of three runs continues from the state of the previous one.
 */
export function mixedProgram(seed: number, unsupported: Unsupported = () => undefined): RandomProgram {
  const draft = new Draft(seed, unsupported);
  const { program } = draft;
  const [T, U] = [program.dim("T", 6), program.dim("U", 3)];
  const cols = draft.oneOf([1 + draft.draw(9), 32, 64, 256]);
  const counts: readonly number[] = [6, 1, 1 + draft.draw(6)];
  const shapes: readonly Shape[] = [[T, cols], [T, cols], [U, cols], [2, T, cols], [T, 8], [cols], [], [T, 4, 5, 6], [T, 4, 7]];
  shapes.forEach((shape, i) => void draft.input(`x${i}`, "f32", shape, 1));
  draft.input("i", "i32", [T, 3], 100);
  draft.input("j", "i32", [T, 3], 2 ** 31 - 1);
  draft.input("p", "bool", [T, cols], 1);
  const matrices = [0, 1].map(() => draft.weight("f32", [cols, cols]).ref);
  const pick = (): Known => draft.float()!;
  const draw = (n: number): number => draft.draw(n);
  const common: Family = () => drawCall(program, draw, () => draft.next(), pick, matrices);
  const other: Family = () => drawOther(program, draw, pick, elementAt(matrices, 0));
  const kinds: readonly (readonly Family[])[] = [
    [common],
    [common, other],
    tensorFamilies,
    tensorFamilies,
    jumpFamilies,
    stateFamilies(draft, T, counts),
  ];
  const calls = 1 + draw(40);
  let made = 0;
  for (let attempts = 0; made < calls && attempts < 20 * calls; attempts++) {
    const candidate: Candidate = draft.oneOf(draft.oneOf(kinds))(draft);
    if (candidate !== impossible && draft.record(candidate)) made++;
  }
  const atol = draft.outputs(4);
  const runs = counts.map((rows, run) => {
    const dims: DimValues = { T: rows, U: elementAt([2, 3, 1], run) };
    return draft.run(dims, run);
  });
  return { program, weights: draft.weights, runs, tolerance: (output) => ({ rtol: 0, atol: named(atol, output) }) };
}

/** The seed is in the test's name and in every message: `mixedProgram(seed, backend.unsupported)` reproduces the program. */
function mixedTest(seed: number): ConformanceTest {
  return programTest(`random ops of all families, seed ${seed}`, async (backend) => {
    const { program, weights, runs, tolerance } = mixedProgram(seed, (...call) => backend.unsupported(...call));
    await expectLikeReference(`mixed program ${seed}`, backend, program, weights, runs, tolerance);
  });
}

async function explained(backend: Backend): Promise<void> {
  for (let seed = 2100; seed < 2103; seed++) {
    const { program, weights, runs } = mixedProgram(seed, (...call) => backend.unsupported(...call));
    await expectExplained(`mixed program ${seed}`, backend, program, weights, elementAt(runs, 0));
  }
}

export const mixedPrograms: readonly ConformanceTest[] = [
  ...Array.from({ length: 24 }, (_, i) => mixedTest(2000 + i)),
  programTest("explain lists what runs", explained),
];
