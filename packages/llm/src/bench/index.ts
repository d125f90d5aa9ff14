export { type BenchOptions, type BenchRow, benchModel } from "./benchModel.ts";
export { llamaBenchTable } from "./llamaBenchTable.ts";
