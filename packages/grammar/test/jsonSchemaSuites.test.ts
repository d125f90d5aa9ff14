import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const shared = resolve(process.env.CENTELLA_SHARED ?? resolve(import.meta.dirname, "../../../../shared"));
const hasSuites = existsSync(join(shared, "data/schemas"));
const reason = hasSuites ? "" : " (no data/schemas in CENTELLA_SHARED)";

test.skipIf(!hasSuites)(
  `no instance of the two suites is wrongly accepted, and most schemas are enforced${reason}`,
  { timeout: 300_000 },
  () => {
    const script = join(import.meta.dirname, "../scripts/schemas.mjs");
    const env = { ...process.env, CENTELLA_SHARED: shared };
    const output = execFileSync(process.execPath, ["--conditions=@centella/source", script], { encoding: "utf8", env });
    const rows = output.trim().split("\n").slice(2);
    const results = rows.map((row) => {
      const [name, schemas, , right, accepted] = row.split("|").slice(1);
      return { name: name!.trim(), schemas: Number(schemas), right: Number.parseInt(right!, 10), accepted: Number.parseInt(accepted!, 10) };
    });
    expect(results.map(({ accepted }) => accepted)).toEqual([0, 0, 0]);
    const [latest, draft7, maskBench] = results;
    expect(latest!.right).toBeGreaterThanOrEqual(320);
    expect(draft7!.right).toBeGreaterThanOrEqual(230);
    expect(maskBench!.right / maskBench!.schemas).toBeGreaterThanOrEqual(0.95);
  },
);
