export { cases } from "./cases/index.ts";
export { type Comparison, compareToReference, expectClose, expectEqual, expectRejection, expectThat } from "./compare.ts";
export { type ConformanceResult, conformanceSample, conformanceTests, type RunConformanceOptions, runConformance } from "./conformance.ts";
export { type ConformanceTest, compileOrSkip, NotApplicable } from "./conformanceTest.ts";
export { type Contents, contentsOf, random, seedOf, uniform } from "./data.ts";
export type { CaseTensor, Fill, OpCase, OpCases, Tolerance, WrongCase } from "./opCases.ts";
export { opTests } from "./opTests.ts";
export { programTests } from "./programs/index.ts";
export { type RandomProgram, randomProgram } from "./programs/random.ts";
export { mixedProgram } from "./programs/randomMixed.ts";
export {
  expectLikeReference,
  expectOutputs,
  type Outputs,
  type Run,
  runAll,
  runOnce,
  type Tolerances,
  type Weights,
  withPlan,
} from "./programs/scenario.ts";
export { failingSource, sourceOf } from "./sources.ts";
