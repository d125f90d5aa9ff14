/** True where slow test files (`*.grid.test.ts`) run all their cases: with `CENTELLA_GRID=full` or `all`. Otherwise they run a sample. */
export const isFullGrid: boolean = ["full", "all"].includes(process.env.CENTELLA_GRID ?? "");
