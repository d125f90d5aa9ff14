const asked = process.env.CENTELLA_GRID ?? "";
if (!["", "all"].includes(asked)) throw new Error(`CENTELLA_GRID: expected all, got ${asked}; leave it out for a sample of the slow tests`);

/**
 * True where slow test files run all their cases: with `CENTELLA_GRID=all`, as each night. Otherwise, also in `.ci/run`, they run a sample that has
 * every op, type and family, and skip the other cases by name. These files are called `*.grid.test.ts`.
 */
export const isWholeGrid: boolean = asked === "all";

/** Returns whether a case runs: each in the whole grid, else the first with its key. Each case is asked for once and in order. */
export function firstOfEach(): (key: string) => boolean {
  const seen = new Set<string>();
  return (key) => {
    const isFirst = !seen.has(key);
    seen.add(key);
    return isWholeGrid || isFirst;
  };
}
