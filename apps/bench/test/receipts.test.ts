import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { pagesSuite } from "../src/cli/pages.ts";
import { updateDocs, withTables } from "../src/docs/update.ts";
import { machineSlug, mainRef } from "../src/machine.ts";
import { checkReceipt } from "../src/receipts/check.ts";
import { deriveRow, quoted } from "../src/receipts/derive.ts";
import { type Receipt, type ReceiptRow, receiptVersion } from "../src/receipts/receipt.ts";
import { readReceipts, repositoryFolder, storedReceipts, writeReceipts } from "../src/receipts/store.ts";
import { baselineTable, receiptTable } from "../src/tables.ts";

const passes = (seconds: number): readonly (readonly number[])[] =>
  [1, 1.01, 0.99, 1.02, 0.98].map((f) => [seconds * f, seconds * f * 1.001]);

const rows: readonly ReceiptRow[] = [
  {
    id: "512×512×512",
    metric: "GFLOP/s",
    bound: "flops",
    work: { flops: 2 * 512 ** 3, bytes: 3 * 4 * 512 ** 2 },
    data: "-",
    subjects: [
      { name: "wasm", side: "ours", threads: 1, calls: 3, samples: passes(0.005) },
      { name: "fast peer", side: "peer", threads: 1, calls: 3, samples: passes(0.0025) },
      { name: "slow peer", side: "peer", threads: 1, calls: 3, samples: passes(0.01) },
      { name: "absent", side: "peer", threads: 1, skipped: "not installed" },
    ],
  },
];

/** Tests also run on branches, whose head is not on main. */
function commitOnMain(): string {
  const main = mainRef(repositoryFolder)!;
  return execFileSync("git", ["merge-base", "HEAD", main], { cwd: repositoryFolder, encoding: "utf8", stdio: "pipe" }).trim();
}

function receiptOf(changes: Partial<Receipt> = {}): Receipt {
  return {
    version: receiptVersion,
    suite: "matmul",
    date: "2026-11-20T10:00:00.000Z",
    commit: { sha: commitOnMain(), isClean: true },
    machine: {
      cpu: "AMD EPYC 9555 64-Core Processor",
      cores: 2,
      memoryBytes: 2 ** 34,
      cacheBytes: 2 ** 25,
      os: "linux x64",
      governor: undefined,
      gpus: [],
    },
    versions: { node: "24.0.0", "fast peer": "1.2.3" },
    devices: { wasm: "WebAssembly SIMD" },
    command: "pnpm bench",
    ceilings: [{ kind: "flops", threads: 1, work: 6e9, samples: passes(0.1) }],
    rows: rows.map((row) => deriveRow("matmul", row)),
    ...changes,
  };
}

describe("a receipt", () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-bench-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("passes the check both when written and after it was stored and read again", () => {
    const [path] = writeReceipts(folder, [receiptOf()]);
    expect(path).toBe(join(folder, "amd-epyc-9555-2c", "2026-11-20-matmul.json"));
    const [read] = readReceipts(path!);
    expect(checkReceipt(read!, repositoryFolder)).toEqual([]);
    expect(readFileSync(path!, "utf8")).toMatch(/\[0\.005, /);
  });

  test("of several suites goes to one file", () => {
    const path = join(folder, "all.json");
    writeReceipts(path, [receiptOf(), receiptOf({ suite: "elementwise" })]);
    expect(readReceipts(path).map(({ suite }) => suite)).toEqual(["matmul", "elementwise"]);
  });

  test("of another model than the embedded one has a file and a table of its own", () => {
    const embedded = receiptOf({ suite: pagesSuite("chromium"), command: "embedded" });
    const other = receiptOf({ suite: pagesSuite("chromium", ["/models/Qwen2.5 0.5B-Q4_0.gguf"]), command: "other" });
    expect(writeReceipts(folder, [embedded, other]).map((path) => basename(path))).toEqual([
      "2026-11-20-chromium.json",
      "2026-11-20-chromium-qwen2.5-0.5b-q4_0.json",
    ]);
    const tableOf = (suite: string): string => withTables(`<!-- bench ${suite} -->\n<!-- /bench -->`, [embedded, other]);
    expect(tableOf("chromium")).toContain("`embedded`");
    expect(tableOf("chromium-qwen2.5-0.5b-q4_0")).toContain("`other`");
  });

  test("with an embellished median, ratio or interval fails", () => {
    const receipt = receiptOf();
    const embellish = (change: (subject: Receipt["rows"][number]["subjects"][number]) => object): readonly string[] =>
      checkReceipt(
        {
          ...receipt,
          rows: receipt.rows.map((row) => ({ ...row, subjects: row.subjects.map((subject) => ({ ...subject, ...change(subject) })) })),
        },
        repositoryFolder,
      );
    expect(embellish(({ name, time }) => (name === "wasm" ? { time: { ...time!, median: time!.median * 0.9 } } : {}))[0]).toMatch(
      /wasm: expected .* from the samples/,
    );
    expect(embellish(({ name, ratios }) => (name === "fast peer" ? { ratios: { wasm: { ...ratios!.wasm!, high: 1.5 } } } : {}))[0]).toMatch(
      /fast peer/,
    );
    expect(
      embellish(({ name, samples }) => (name === "wasm" ? { samples: samples!.map((pass) => pass.map((s) => s / 2)) } : {}))[0],
    ).toMatch(/wasm/);
  });

  test("of a dirty tree, an unknown commit, a wrong result or few samples fails", () => {
    const receipt = receiptOf();
    const { commit } = receipt;
    expect(checkReceipt({ ...receipt, commit: { ...commit, isClean: false } }, repositoryFolder)[0]).toMatch(/expected a clean tree/);
    expect(checkReceipt({ ...receipt, commit: { ...commit, sha: "0".repeat(40) } }, repositoryFolder)[0]).toMatch(
      /expected an ancestor of main/,
    );
    expect(checkReceipt({ ...receipt, version: 0 }, repositoryFolder)[0]).toMatch(/version/);
    const [row] = receipt.rows;
    const [subject] = row!.subjects;
    const failed = { ...row!, subjects: [{ name: "wasm", side: "ours" as const, failed: "wrong result" }] };
    expect(checkReceipt({ ...receipt, rows: [failed] }, repositoryFolder)[0]).toMatch(/failed: wrong result/);
    const few = deriveRow("matmul", { ...row!, subjects: [{ ...subject!, samples: [[1, 2, 3]] }] });
    expect(checkReceipt({ ...receipt, rows: [few] }, repositoryFolder)[0]).toMatch(/at least 10 samples, got 3/);
  });

  test("reports losses as plainly as wins", () => {
    const table = receiptTable(receiptOf());
    expect(table).toMatch(/fast peer, 1T .* wasm 0\.5× \[0\.5–0\.5\] slower/);
    expect(table).toMatch(/slow peer, 1T .* wasm 2× \[2–2\] faster/);
    expect(table).toMatch(/absent, 1T .* skipped: not installed/);
    // 2 · 512³ flops in 5 ms are 53.7 GFLOP/s, of a ceiling of 60.
    expect(table).toMatch(/wasm, 1T .* 53\.\d GFLOP\/s .* (?:89|90) %/);
  });

  test("turns intervals around where less time is more", () => {
    expect(quoted("GFLOP/s", { flops: 1e9 }, { median: 1, low: 0.5, high: 2 })).toEqual({ median: 1, low: 0.5, high: 2 });
    expect(quoted("µs", {}, { median: 1, low: 0.5, high: 2 })).toEqual({ median: 1e6, low: 5e5, high: 2e6 });
    expect(quoted("GB/s", { bytes: 1e9 }, { median: 2, low: 1, high: 4 })).toEqual({ median: 0.5, low: 0.25, high: 1 });
  });

  test("is compared with a baseline by intervals", () => {
    const faster = receiptOf({
      rows: rows.map((row) => deriveRow("matmul", { ...row, subjects: [{ ...row.subjects[0]!, samples: passes(0.004) }] })),
    });
    expect(baselineTable(faster, receiptOf())).toMatch(/512×512×512 +\| wasm +\| +1\.25× .* faster/);
    expect(baselineTable(receiptOf(), receiptOf())).toMatch(/wasm +\| +1× .* equal/);
    expect(baselineTable(receiptOf(), faster)).toMatch(/slower/);
  });
});

describe("tables in documents", () => {
  const text =
    "before\n<!-- bench matmul -->\nanything\n<!-- /bench -->\nafter <!-- bench elementwise amd-epyc-9555-2c -->\n<!-- /bench -->\n";

  test("are those of the newest fitting receipt", () => {
    const old = receiptOf({ date: "2026-01-01T00:00:00.000Z", command: "old" });
    const tables = withTables(text, [receiptOf(), old]);
    expect(tables).toContain("53.7 GFLOP/s");
    expect(tables).toContain("2026-11-20");
    expect(tables).not.toContain("anything");
    expect(tables).toContain("No receipt has been committed yet.");
    expect(withTables(tables, [receiptOf(), old])).toBe(tables);
  });

  test("in this repository agree with the committed receipts", () => {
    expect(updateDocs({ write: false }), "run pnpm bench docs").toEqual([]);
  });
});

test("committed receipts give the figures that they claim", () => {
  const problems = storedReceipts().flatMap(({ path, receipt }) =>
    checkReceipt(receipt, repositoryFolder).map((problem) => `${path}: ${problem}`),
  );
  expect(problems).toEqual([]);
});

test("machines have names for folders", () => {
  expect(machineSlug({ ...receiptOf().machine, cpu: "Intel(R) Xeon(R) Processor family 6 model 167" })).toBe(
    "intel-xeon-family-6-model-167-2c",
  );
  expect(machineSlug({ ...receiptOf().machine, gpus: [{ name: "NVIDIA H200", driver: "580" }] })).toBe("amd-epyc-9555-2c-nvidia-h200");
});
