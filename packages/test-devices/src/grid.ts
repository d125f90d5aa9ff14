/**
 * True where slow test files run nearly all their cases: with `CENTELLA_GRID=full`, as in `.ci/run`. Otherwise they run a sample that has every op,
 * type and family, and skip the other cases by name. These files are called `*.grid.test.ts`.
 */
export const isFullGrid: boolean = ["full", "all"].includes(process.env.CENTELLA_GRID ?? "");

/**
 * True where these files also run what takes too long for each run of `.ci/run`: with `CENTELLA_GRID=all`. Everything that it adds differs
 * from a case of the full grid in a type, a shape or a feature alone.
 */
export const isWholeGrid: boolean = process.env.CENTELLA_GRID === "all";

/** Which cases of a slow suite run. */
export type GridSize = "sample" | "full" | "all";

/** The size that {@link isFullGrid} and {@link isWholeGrid} ask about. */
export const gridSize: GridSize = isWholeGrid ? "all" : isFullGrid ? "full" : "sample";

/**
 * Returns whether a case runs: each in the whole grid, the first with its key and every eighth other in the full one, else the first with its key.
 * Each case is asked for once and in order.
 */
export function firstOfEach(): (key: string) => boolean {
  const counts = new Map<string, number>();
  let others = 0;
  return (key) => {
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return isWholeGrid || count === 0 || (isFullGrid && others++ % 8 === 0);
  };
}

/**
 * Returns whether the full grid has a case of a table: one of `share` in each row. Rows begin with different columns, so that together they have
 * all columns. The whole grid has every case.
 */
export function isInTurn(row: number, column: number, share: number): boolean {
  return isWholeGrid || (row + column) % share === 0;
}
