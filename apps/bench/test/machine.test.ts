import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { peakResidentBytes } from "@centella/cli/peakMemory";
import { afterEach, describe, expect, test, vi } from "vitest";
import { describeCommit } from "../src/machine.ts";
import { repositoryFolder } from "../src/receipts/store.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the commit that was measured", () => {
  const sha = "20c3f80d6475c1b6f3a1e0b2c4d5e6f708192a3b";

  test("is that of the repository", () => {
    expect(describeCommit(repositoryFolder).sha).toMatch(/^[0-9a-f]{40}$/);
  });

  test.each([
    [sha, true],
    [`${sha}-dirty`, false],
  ])("of a copy without git is told by BENCH_COMMIT=%s", (told, isClean) => {
    vi.stubEnv("BENCH_COMMIT", told);
    expect(describeCommit("/nowhere")).toEqual({ sha, isClean });
  });

  test("is refused where BENCH_COMMIT is no commit", () => {
    vi.stubEnv("BENCH_COMMIT", "main");
    expect(() => describeCommit(repositoryFolder)).toThrow('BENCH_COMMIT: expected 40 hexadecimal digits, then perhaps -dirty, got "main"');
  });
});

// Elsewhere exec starts a new count.
test.skipIf(process.platform !== "linux")("peak memory (on Linux) is the process's own, not that of the process that started it", () => {
  const ballast = Buffer.alloc(400 * 2 ** 20, 1);
  const module = fileURLToPath(new URL("../../../packages/cli/src/peakMemory.ts", import.meta.url));
  const script = `import { peakResidentBytes } from ${JSON.stringify(module)}; console.log(peakResidentBytes());`;
  const child = Number(execFileSync(process.execPath, ["--no-warnings", "--input-type=module", "-e", script], { encoding: "utf8" }));
  expect(ballast[12345]).toBe(1);
  expect(peakResidentBytes()).toBeGreaterThan(400 * 2 ** 20);
  expect(child).toBeGreaterThan(10 * 2 ** 20);
  expect(child).toBeLessThan(200 * 2 ** 20);
});
