import { expect, test } from "vitest";
import { fuzz, noCounts } from "./fuzz.ts";

test("thousands of mutated files are refused, or read and written back identically", async () => {
  const counts = noCounts();
  await fuzz(20250, 4000, counts);
  // The mutations reach deep: some are harmless, others hit each kind of check.
  expect(counts.read).toBeGreaterThan(400);
  for (const code of ["not-gguf", "version", "truncated", "invalid", "unknown-type", "parts"])
    expect(Object.keys(counts.refused)).toContain(code);
});
