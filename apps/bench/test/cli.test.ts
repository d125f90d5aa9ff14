import { afterEach, expect, test, vi } from "vitest";
import { main } from "../src/cli/main.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const lines = { out: "", err: "" };
  vi.spyOn(console, "log").mockImplementation((line: string) => {
    lines.out += `${line}\n`;
  });
  vi.spyOn(console, "error").mockImplementation((line: string) => {
    lines.err += `${line}\n`;
  });
  return { code: await main(args), ...lines };
}

test.each([
  [["--suite", "nonsense"], /--suite: expected one of matmul, elementwise, .*, got nonsense/],
  [["--backend", "metal"], /--backend: expected one of wasm, .*, got metal/],
  [["--peer", "pytorch"], /--peer: expected one of scalar, .*, got pytorch/],
  [["--unknown"], /Unknown option '--unknown'/],
  [["--suite"], /'--suite <value>' argument missing/],
  [["matmul"], /expected options alone, got matmul/],
  [["--threads", "0"], /--threads: expected a whole number from 1 to \d+, got 0/],
  [["--baseline", "/no/such/file.json"], /\/no\/such\/file\.json: expected a receipt/],
  [["--model", "/no/such/file.gguf"], /--model: expected a GGUF file/],
  [["model", "--type", "Q4_0"], /expected --shape, --type and --out/],
  [["model", "--shape", "gpt-5", "--type", "Q4_0", "--out", "x"], /--shape: expected one of qwen2\.5-0\.5b/],
  [["model", "--shape", "smollm2-135m", "--type", "Q3_K", "--out", "x"], /--type: expected one of F16, Q4_0, Q8_0, Q4_K_M, got Q3_K/],
  [["model", "--shape", "smollm2-135m", "--type", "Q4_0", "--layers", "1", "--out", "/no/such/folder/x"], /--out: cannot write/],
  [["pages", "--browser", "safari"], /--browser: expected one of chromium, firefox, got safari/],
  [["pages", "--model", "/no/such/file.gguf"], /--model: expected a GGUF file/],
  [["peers"], /peers: expected install, got nothing/],
])("bench %j is a wrong command line: one line, exit code 2", async (args, message) => {
  const { code, out, err } = await run(...args);
  expect(code).toBe(2);
  expect(out).toBe("");
  expect(err).toMatch(message);
  expect(err.trimEnd()).not.toContain("\n");
});

test("help names every option, and a model's", async () => {
  const { code, out } = await run("--help");
  expect(code).toBe(0);
  for (const option of ["--suite", "--backend", "--peers", "--quick", "--json", "--baseline", "--model", "--threads"])
    expect(out).toContain(option);
  expect((await run("model", "--help")).out).toContain("--layers");
  expect((await run("pages", "--help")).out).toContain("--browser");
});

test("a run without a backend that opens is a failure, not an empty success", async () => {
  const { code, err } = await run("--backend", "cuda", "--suite", "plan", "--quick");
  if (!/cuda: skipped/.test(err)) return;
  expect(code).toBe(1);
  expect(err).toContain("expected at least one measured row, got none");
});
