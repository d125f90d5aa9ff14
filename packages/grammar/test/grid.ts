/** True where slow test files (`*.grid.test.ts`) run all their cases: with `CENTELLA_GRID=full`. Otherwise they run a sample. */
export const isFullGrid: boolean = process.env.CENTELLA_GRID === "full";
