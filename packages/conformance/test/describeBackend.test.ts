import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface Assertion {
  readonly fullName: string;
  readonly status: "passed" | "failed" | "skipped" | "pending";
  readonly failureMessages: readonly string[];
}

interface Report {
  readonly testResults: readonly { readonly assertionResults: readonly Assertion[] }[];
}

/** A suite that fails on purpose needs a runner of its own. */
async function runFixture(): Promise<readonly Assertion[]> {
  const root = fileURLToPath(new URL("fixtures", import.meta.url));
  const vitest = fileURLToPath(new URL("../../../node_modules/vitest/vitest.mjs", import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), "centella-"));
  const report = join(folder, "report.json");
  try {
    await new Promise((resolve) => {
      execFile(
        process.execPath,
        [vitest, "run", "--root", root, "--reporter=json", `--outputFile=${report}`],
        { maxBuffer: 2 ** 26 },
        resolve,
      );
    });
    const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
    return testResults.flatMap(({ assertionResults }) => assertionResults);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("describeBackend: known failures, stale entries, missing kernels and missing backends", async () => {
  const results = await runFixture();
  const one = (name: string): Assertion => {
    const found = results.filter(({ fullName }) => fullName.startsWith(name));
    expect(found.length, name).toBe(1);
    return found[0]!;
  };
  expect(one("backend broken relu: golden: relu (known: #1)").status).toBe("passed");
  expect(one("backend broken tanh: golden: tanh (known: #2)").status).toBe("failed");
  expect(one("backend broken known failure relu: gone").failureMessages[0]).toContain('no test is named "relu: gone"');
  const wrong = one("backend broken relu: no multiple of a vector");
  expect([wrong.status, wrong.failureMessages[0]]).toEqual(["failed", expect.stringMatching(/got -0\.\d+, want 0/)]);
  expect(one("backend broken matmul: batched (unsupported: no matmul kernel)").status).toMatch(/skipped|pending/);
  expect(one("backend absent absent is not available: no driver").status).toMatch(/skipped|pending/);
  expect(one("backend required required is available").failureMessages[0]).toContain(
    "required by REQUIRE_BACKENDS, but it is not available: no driver",
  );
});
