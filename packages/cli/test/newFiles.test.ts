import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { centella, expectOneLine, type Result, tiny } from "./centella.ts";

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
  const partial = (): string | undefined => readdirSync(folder).find((name) => name.endsWith(".partial"));

  /** Runs a command that writes `out.gguf`, and `code` in its process before the command. */
  function runAfter(code: string): Promise<Result> {
    const preload = join(root, "preload.cjs");
    writeFileSync(preload, code);
    return centella(quantize(join(folder, "out.gguf"), "Q8_0"), { env: { NODE_OPTIONS: `--require ${JSON.stringify(preload)}` } });
  }

  /** The process gets a signal at the third piece that it writes. */
  const signalled = (signal: NodeJS.Signals): Promise<Result> =>
    runAfter(`
      const files = require("node:fs/promises");
      const { open } = files;
      files.open = async (path, ...rest) => {
        const file = await open(path, ...rest);
        if (!String(path).endsWith(".partial")) return file;
        const { write } = file;
        let writes = 0;
        file.write = async (...args) => {
          const result = await write.apply(file, args);
          if (++writes === 3) process.kill(process.pid, "${signal}");
          return result;
        };
        return file;
      };`);

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s removes it and exits with %i", async (signal, code) => {
    expect((await signalled(signal)).code).toBe(code);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a kill leaves nothing under its name, and what it leaves is not taken up", async () => {
    expect((await signalled("SIGKILL")).code).toBeNull();
    const left = partial();
    expect(readdirSync(folder)).toEqual([left]);
    const before = readFileSync(join(folder, left!));
    expect((await centella(quantize(join(folder, "out.gguf"), "Q8_0"))).code).toBe(0);
    expect(readFileSync(join(folder, left!)).equals(before)).toBe(true);
  });

  test("a file that appears under the output's name stays unchanged", async () => {
    // Another program takes the name just before the file would get it.
    const result = await runAfter(`
      const files = require("node:fs/promises");
      const { link, writeFile } = files;
      files.link = async (from, to) => {
        await writeFile(to, "other", { flag: "wx" });
        return link(from, to);
      };`);
    expectOneLine(result, /expected a new file, got '.*out\.gguf', which exists/, 2);
    expect(readFileSync(join(folder, "out.gguf"), "utf8")).toBe("other");
    expect(readdirSync(folder)).toEqual(["out.gguf"]);
  });
});
