import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { isWholeGrid } from "./grid.ts";

const shared = resolve(process.env.CENTELLA_SHARED ?? resolve(import.meta.dirname, "../../../../shared"));
const hasSuites = existsSync(join(shared, "data/schemas"));
const reason = hasSuites ? "" : " (no data/schemas in CENTELLA_SHARED)";

// The suites are outside data, which a clone does not have.
test.skipIf(!hasSuites)(`no instance of the two suites is wrongly accepted, and most schemas are enforced${reason}`, () => {
  const script = join(import.meta.dirname, "../scripts/schemas.mjs");
  const env = { ...process.env, CENTELLA_SHARED: shared };
  const output = execFileSync(process.execPath, ["--conditions=@centella/source", script, "--every", isWholeGrid ? "1" : "10"], {
    encoding: "utf8",
    env,
  });
  const rows = output.trim().split("\n").slice(2);
  const results = rows.map((row) => {
    const [name, schemas, , right, accepted] = row.split("|").slice(1);
    return { name: name!.trim(), schemas: Number(schemas), right: Number.parseInt(right!, 10), accepted: Number.parseInt(accepted!, 10) };
  });
  expect(results.map(({ accepted }) => accepted)).toEqual([0, 0, 0]);
  // Shares of 383, 257 and 974 schemas. A sample may have some more of the refused ones.
  for (const [i, share] of [0.83, 0.89, 0.95].entries()) {
    const { name, right, schemas } = results[i]!;
    expect(right / schemas, name).toBeGreaterThanOrEqual(isWholeGrid ? share : share - 0.05);
  }
});
