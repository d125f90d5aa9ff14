/** True where slow test files (`*.grid.test.ts`) run all their cases: with `CENTELLA_GRID=all`, as each night. Otherwise they run a sample. */
export const isWholeGrid: boolean = process.env.CENTELLA_GRID === "all";
