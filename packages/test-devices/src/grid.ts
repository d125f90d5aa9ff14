/**
 * True where slow test files run all their cases: with `CENTELLA_GRID=full`, as in `.ci/run`. Otherwise they run a sample that has every op,
 * type and family, and skip the other cases by name. These files are called `*.grid.test.ts`.
 */
export const isFullGrid: boolean = process.env.CENTELLA_GRID === "full";

/** Returns whether a case runs: each in the full grid, else the first with its key. Keys are asked for once and in order. */
export function firstOfEach(): (key: string) => boolean {
  const seen = new Set<string>();
  return (key) => isFullGrid || (!seen.has(key) && seen.add(key) !== undefined);
}
