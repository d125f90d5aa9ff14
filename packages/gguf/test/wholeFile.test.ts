import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ByteSink } from "../src/index.ts";
import { writeWholeFile } from "../src/write/wholeFile.ts";

const root = mkdtempSync(join(tmpdir(), "gguf-whole-"));
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.restoreAllMocks());
let folders = 0;
let folder = "";
let path = "";
beforeEach(() => {
  folder = join(root, String(folders++));
  mkdirSync(folder);
  path = join(folder, "m.gguf");
});

const text = (bytes: string) => async (sink: ByteSink) => sink.write(new TextEncoder().encode(bytes));
const content = (): string => readFileSync(path, "utf8");
const exists = { code: "exists", message: expect.stringMatching(/expected a new file, got '.*m\.gguf', which exists; remove it/) };

describe.each([true, false])("a file written whole, hard links supported: %s", (hasLinks) => {
  beforeEach(() => {
    if (hasLinks) return;
    const refused = Object.assign(new Error("operation not supported"), { code: "ENOTSUP" });
    vi.spyOn(fs, "link").mockRejectedValue(refused);
  });

  test("has its name when it is complete", async () => {
    await writeWholeFile(path, async (sink) => {
      await text("a")(sink);
      expect(readdirSync(folder)).toEqual([expect.stringMatching(/^m\.gguf\.[\da-f]{8}\.partial$/)]);
      await text("b")(sink);
    });
    expect(content()).toBe("ab");
    expect(readdirSync(folder)).toEqual(["m.gguf"]);
  });

  test("does not replace a file, whenever that appears", async () => {
    writeFileSync(path, "other");
    const write = vi.fn(text("a"));
    await expect(writeWholeFile(path, write)).rejects.toMatchObject(exists);
    expect(write).not.toHaveBeenCalled();
    rmSync(path);
    const late = async (sink: ByteSink): Promise<void> => {
      await text("a")(sink);
      writeFileSync(path, "other");
    };
    await expect(writeWholeFile(path, late)).rejects.toMatchObject(exists);
    expect(content()).toBe("other");
    expect(readdirSync(folder)).toEqual(["m.gguf"]);
  });

  test("is that of one writer alone, however many write it at a time", async () => {
    const bodies = ["a", "b", "c", "d"].map((letter) => letter.repeat(100_000));
    const results = await Promise.allSettled(
      bodies.map((body) =>
        writeWholeFile(path, async (sink) => {
          for (let at = 0; at < body.length; at += 10_000) await text(body.slice(at, at + 10_000))(sink);
        }),
      ),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of results) if (result.status === "rejected") expect(result.reason).toMatchObject(exists);
    expect(content()).toBe(bodies[results.findIndex(({ status }) => status === "fulfilled")]);
    expect(readdirSync(folder)).toEqual(["m.gguf"]);
  });
});

test("a failure leaves nothing, and what a killed process left is not taken up", async () => {
  const left = join(folder, "m.gguf.partial");
  writeFileSync(left, "left");
  await expect(writeWholeFile(path, async () => Promise.reject(new Error("enough")))).rejects.toThrow("enough");
  expect(readdirSync(folder)).toEqual(["m.gguf.partial"]);
  await writeWholeFile(path, text("a"));
  expect([content(), readFileSync(left, "utf8")]).toEqual(["a", "left"]);
});

describe("with overwrite", () => {
  test("replaces the file, with its permissions, where a symbolic link leads", async () => {
    writeFileSync(path, "before");
    chmodSync(path, 0o640);
    const [symbolic, hard] = [join(folder, "symbolic"), join(folder, "hard")];
    symlinkSync("m.gguf", symbolic);
    linkSync(path, hard);
    await writeWholeFile(symbolic, text("after"), { overwrite: true });
    expect([content(), readlinkSync(symbolic), readFileSync(hard, "utf8")]).toEqual(["after", "m.gguf", "before"]);
    if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  test("writes a new file where there is none, and keeps the old one if it fails", async () => {
    await writeWholeFile(path, text("a"), { overwrite: true });
    await expect(writeWholeFile(path, async () => Promise.reject(new Error("enough")), { overwrite: true })).rejects.toThrow("enough");
    expect(content()).toBe("a");
    expect(readdirSync(folder)).toEqual(["m.gguf"]);
  });
});

test.each([
  ["a folder that is not there", "none/m.gguf", /cannot write '.*none.m\.gguf': no such file or directory$/],
  ["a path through a file", "file/m.gguf", /cannot write .*: a part of the path is not a directory$/],
  ["a name of 300 bytes", "a".repeat(300), /cannot write .*: the name is too long$/],
  ["a folder", ".", /which exists/],
])("%s is a typed error", async (_, name, message) => {
  writeFileSync(join(folder, "file"), "");
  await expect(writeWholeFile(join(folder, name), text("a"))).rejects.toMatchObject({
    name: "GgufError",
    message: expect.stringMatching(message),
  });
});

test("a full disk is a typed error", async () => {
  const { open } = fs;
  vi.spyOn(fs, "open").mockImplementation(async (...args) => {
    const handle = await open(...args);
    handle.write = () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }));
    return handle;
  });
  await expect(writeWholeFile(path, text("a"))).rejects.toMatchObject({
    code: "io",
    message: expect.stringMatching(/: no space is left on the device$/),
  });
  expect(readdirSync(folder)).toEqual([]);
});
