import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { bin, centella, expectOneLine, type Result, tiny } from "./centella.ts";

const root = mkdtempSync(join(tmpdir(), "cli-new-files-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;
let folder = "";
beforeEach(() => {
  folder = join(root, String(folders++));
  mkdirSync(folder);
});

const quantize = (out: string, type: string, from = tiny): string[] => [
  ...["quantize", from, out, type],
  ...["--allow-requantize", "--threads", "1"],
];
const isRefused = ({ code, stderr }: Result): boolean => code === 2 && /which exists/.test(stderr);

/** Runs several commands at a time, which all would write one file; exactly one may succeed. */
async function race(commands: readonly (readonly string[])[]): Promise<number> {
  const results = await Promise.all(commands.map((args) => centella(args)));
  const winners = results.flatMap(({ code }, i) => (code === 0 ? [i] : []));
  expect(winners, JSON.stringify(results)).toHaveLength(1);
  for (const [i, result] of results.entries()) expect(i === winners[0] || isRefused(result), result.stderr).toBe(true);
  return winners[0]!;
}

describe("a new file is that of one command alone", () => {
  test("quantize", async () => {
    const types = ["Q4_0", "Q8_0", "Q4_0", "Q8_0"];
    const wanted = new Map<string, Buffer>();
    for (const type of new Set(types)) {
      const out = join(folder, `${type}.gguf`);
      expect((await centella(quantize(out, type))).code).toBe(0);
      wanted.set(type, readFileSync(out));
    }
    const out = join(folder, "out.gguf");
    const winner = await race(types.map((type) => quantize(out, type)));
    expect(readFileSync(out).equals(wanted.get(types[winner]!)!)).toBe(true);
    expect(readdirSync(folder).toSorted()).toEqual(["Q4_0.gguf", "Q8_0.gguf", "out.gguf"]);
  });

  test("split and merge", async () => {
    const prefix = join(folder, "part");
    await race([1, 2, 3].map(() => ["split", tiny, prefix, "--max-tensors", "10"]));
    const parts = readdirSync(folder).toSorted();
    expect(parts.every((name) => /^part-\d{5}-of-\d{5}\.gguf$/.test(name))).toBe(true);
    const out = join(folder, "out.gguf");
    await race([1, 2, 3].map(() => ["merge", join(folder, parts[0]!), out]));
    expect(readFileSync(out).equals(readFileSync(tiny))).toBe(true);
    expect(readdirSync(folder).toSorted()).toEqual(["out.gguf", ...parts].toSorted());
  });

  test("an input called OUT.partial stays unchanged", async () => {
    const [input, out] = [join(folder, "m.gguf.partial"), join(folder, "m.gguf")];
    copyFileSync(tiny, input);
    expect((await centella(quantize(out, "Q4_0", input))).code).toBe(0);
    expect(readFileSync(input).equals(readFileSync(tiny))).toBe(true);
  });
});

describe("while a file is being written", () => {
  /** Seconds of work for one thread, so that what is done to the process comes in the middle. */
  const large = fileURLToPath(new URL("../../model-fable/models/fable-q4_k_m.gguf", import.meta.url));
  const partial = (): string | undefined => readdirSync(folder).find((name) => name.endsWith(".partial"));

  /** Starts to write `out.gguf`, and does `then` to the process when its temporary file is there. */
  async function interrupted(then: (pid: number) => void): Promise<[code: number | null, signal: string | null]> {
    const child = spawn(process.execPath, [bin, ...quantize(join(folder, "out.gguf"), "IQ4_XS", large)], { stdio: "ignore" });
    const ended = once(child, "close");
    while (partial() === undefined && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 5));
    then(child.pid!);
    return (await ended) as [number | null, string | null];
  }

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s removes it and exits with %i", async (signal, code) => {
    expect(await interrupted((pid) => void process.kill(pid, signal))).toEqual([code, null]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a kill leaves nothing under its name, and what it leaves is not taken up", async () => {
    expect(await interrupted((pid) => void process.kill(pid, "SIGKILL"))).toEqual([null, "SIGKILL"]);
    const left = partial();
    expect(readdirSync(folder)).toEqual([left]);
    const before = readFileSync(join(folder, left!));
    expect((await centella(quantize(join(folder, "out.gguf"), "Q8_0"))).code).toBe(0);
    expect(readFileSync(join(folder, left!)).equals(before)).toBe(true);
  });

  test("a file that appears under the output's name stays unchanged", async () => {
    const out = join(folder, "out.gguf");
    const running = centella(quantize(out, "IQ4_XS"));
    while (partial() === undefined && !existsSync(out)) await new Promise((resolve) => setTimeout(resolve, 1));
    writeFileSync(out, "other", { flag: "wx" });
    expectOneLine(await running, /expected a new file, got '.*out\.gguf', which exists/, 2);
    expect(readFileSync(out, "utf8")).toBe("other");
    expect(readdirSync(folder)).toEqual(["out.gguf"]);
  });
});
