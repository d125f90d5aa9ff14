import { spawnSync } from "node:child_process";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ByteSource, type GgufInput, inspect, openSource, readGguf } from "../src/index.ts";
import { everything, writeGguf } from "./writer.ts";

const bytes = writeGguf(everything);
let folder = "";
let path = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gguf-"));
  path = join(folder, "file.gguf");
  await writeFile(path, bytes);
});

afterAll(() => rm(folder, { recursive: true }));

/** Every kind of input over the same bytes. */
function inputs(): Record<string, GgufInput> {
  const padded = new Uint8Array(bytes.length + 7);
  padded.set(bytes, 7);
  const own: ByteSource = { size: bytes.length, read: async (offset, length) => bytes.slice(offset, offset + length) };
  return { path, blob: new Blob([bytes]), buffer: bytes.buffer, view: padded.subarray(7), own };
}

test("every kind of input gives the same file", async () => {
  const want = await readGguf(bytes);
  for (const input of Object.values(inputs())) {
    await using file = await readGguf(input);
    expect(inspect(file)).toEqual(inspect(want));
    expect(await file.readTensor("matrix")).toEqual(await want.readTensor("matrix"));
    // Again and out of order.
    expect(await file.readTensor("vector")).toEqual(await want.readTensor("vector"));
    expect(await file.readTensor("matrix")).toEqual(await want.readTensor("matrix"));
  }
});

describe("openSource", () => {
  test.each(["path", "blob", "buffer", "view", "own"])("%s: reads exactly what was asked for or rejects", async (kind) => {
    const source = await openSource(inputs()[kind]!);
    expect(source.size).toBe(bytes.length);
    expect(await source.read(3, 5)).toEqual(bytes.slice(3, 8));
    expect(await source.read(bytes.length, 0)).toEqual(new Uint8Array(0));
    for (const [offset, length] of [
      [0, bytes.length + 1],
      [-1, 1],
      [bytes.length, 1],
      [0.5, 1],
      [0, Number.NaN],
    ] as const) {
      await expect(source.read(offset, length)).rejects.toMatchObject({ code: "range" });
    }
    await source.close?.();
  });

  test("says what is wrong with a path", async () => {
    await expect(openSource(join(folder, "none.gguf"))).rejects.toThrow(
      /^gguf: cannot open '.*none.gguf': no such file or directory; check the path$/,
    );
    await expect(openSource(folder)).rejects.toThrow(/not a regular file; give the path of a .gguf file/);
  });

  test("file: URLs are read as paths, and all other URLs are fetched whole", async () => {
    const path = join(folder, "url.bin");
    await writeFile(path, Uint8Array.of(1, 2, 3));
    const file = await openSource(pathToFileURL(path));
    expect([...(await file.read(1, 2))]).toEqual([2, 3]);
    await file.close?.();
    const fetched = await openSource(new URL("data:application/octet-stream;base64,AQID"));
    expect([...(await fetched.read(1, 2))]).toEqual([2, 3]);
    await expect(openSource(new URL("blob:gone"))).rejects.toThrow(/cannot open 'blob:gone'/);
  });

  test("strings with a scheme are URLs", async () => {
    const path = join(folder, "string.bin");
    await writeFile(path, Uint8Array.of(1, 2, 3));
    for (const text of [
      pathToFileURL(path).href,
      "data:application/octet-stream;base64,AQID",
      URL.createObjectURL(new Blob([Uint8Array.of(1, 2, 3)])),
    ]) {
      const source = await openSource(text);
      expect([...(await source.read(1, 2))]).toEqual([2, 3]);
      await source.close?.();
    }
    await expect(openSource("ftp://example.com/m.gguf")).rejects.toMatchObject({ code: "range", got: "'ftp://example.com/m.gguf'" });
    await expect(openSource("hf:owner/repo")).rejects.toThrow(/pass the reference itself to readGguf or loadModel, or pull it first/);
  });

  test("refuses what is no input", async () => {
    for (const input of [null, undefined, 7, {}, { size: -1, read: () => undefined }]) {
      // biome-ignore lint/suspicious/noExplicitAny: untyped callers can pass anything.
      await expect(openSource(input as any)).rejects.toMatchObject({ name: "ArgumentError", code: "argument" });
    }
  });

  test("a source that gives too little, or a file that shrinks, is truncated", async () => {
    const liar = await openSource({ size: 100, read: async () => new Uint8Array(3) });
    await expect(liar.read(0, 10)).rejects.toMatchObject({ code: "truncated", expected: "10 bytes", got: "3" });
    const shrinking = join(folder, "shrinking.gguf");
    await writeFile(shrinking, bytes);
    const source = await openSource(shrinking);
    await truncate(shrinking, 10);
    await expect(source.read(0, 20)).rejects.toMatchObject({ code: "truncated" });
    await source.close?.();
  });
});

describe("readInto", () => {
  /** Fills part of a larger array, whose other bytes must stay. */
  async function filled(source: ByteSource, offset: number, length: number): Promise<Uint8Array> {
    const room = new Uint8Array(new SharedArrayBuffer(length + 2)).fill(255);
    await source.readInto!(room.subarray(1, length + 1), offset);
    expect([room[0], room[length + 1]]).toEqual([255, 255]);
    return room.slice(1, length + 1);
  }

  test("a file writes into given memory, which threads may share", async () => {
    const source = await openSource(path);
    expect(await filled(source, 3, 5)).toEqual(bytes.slice(3, 8));
    expect(await filled(source, 0, bytes.length)).toEqual(bytes);
    await expect(filled(source, bytes.length - 1, 2)).rejects.toMatchObject({ code: "range" });
    await expect(source.readInto!([] as never, 0)).rejects.toThrow(/readInto: expected target to be/);
    const reason = new Error("gone");
    await expect(source.readInto!(new Uint8Array(4), 0, AbortSignal.abort(reason))).rejects.toBe(reason);
    await source.close?.();
    await expect(filled(source, 0, 1)).rejects.toThrow(/close/);
  });

  test("a file is closed once the reads that have begun are complete", async () => {
    const large = join(folder, "large.bin");
    const want = new Uint8Array(2 ** 21).fill(7);
    await writeFile(large, want);
    const source = await openSource(large);
    const target = new Uint8Array(want.length);
    const reading = source.readInto!(target, 0);
    await Promise.all([source.close!(), source.close!()]);
    await reading;
    expect(Buffer.compare(target, want)).toBe(0);
  });

  test("a file that shrinks is truncated", async () => {
    const shrinking = join(folder, "shrinking-into.gguf");
    await writeFile(shrinking, bytes);
    const source = await openSource(shrinking);
    await truncate(shrinking, 10);
    await expect(filled(source, 0, 20)).rejects.toMatchObject({ code: "truncated" });
    await source.close?.();
  });

  test("sources of bytes in memory have no readInto: their reads copy nothing", async () => {
    expect((await openSource(bytes)).readInto).toBe(undefined);
    expect((await openSource(new Blob([bytes]))).readInto).toBe(undefined);
  });

  test("tensors are read by it, or copied where the source has none", async () => {
    for (const input of [path, bytes]) {
      await using file = await readGguf(input);
      const want = await file.readTensor("matrix");
      const target = new Uint8Array(5);
      await file.readTensorInto("matrix", target, { offset: 2 });
      expect(target).toEqual(want.slice(2, 7));
      await expect(file.readTensorInto("matrix", new Uint8Array(want.length + 1))).rejects.toMatchObject({ code: "range" });
    }
  });
});

test("an aborted signal rejects with its reason, before and while reading", async () => {
  const reason = new Error("enough");
  await expect(readGguf(bytes, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const controller = new AbortController();
  const source: ByteSource = {
    size: bytes.length,
    async read(offset, length) {
      controller.abort(reason);
      return bytes.slice(offset, offset + length);
    },
  };
  await expect(readGguf(source, { signal: controller.signal })).rejects.toBe(reason);
  const file = await readGguf(bytes);
  await expect(file.readTensorF32("matrix", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test("a source that was passed in is closed only by close(), not by a failure", async () => {
  let closed = 0;
  const source: ByteSource = { size: 4, read: async () => new Uint8Array(4), close: async () => void closed++ };
  await expect(readGguf(source)).rejects.toMatchObject({ code: "not-gguf" });
  expect(closed).toBe(0);
});

// Open files are counted in /proc.
test.skipIf(process.platform !== "linux")(
  "a file that nobody closed is closed when nobody can read it any more, without a warning of Node's",
  () => {
    const program = `
    import { readdirSync, readlinkSync } from "node:fs";
    import { openSource } from ${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)};
    const open = () => readdirSync("/proc/self/fd").filter((fd) => {
      try { return readlinkSync("/proc/self/fd/" + fd) === path; } catch { return false; }
    }).length;
    const path = ${JSON.stringify(import.meta.filename)};
    await (async () => {
      const sources = [await openSource(path), await openSource(path)];
      await sources[0].read(0, 4);
      await sources[1].close();
    })();
    console.log(open());
    // Collected at once, or with a later turn of the event loop.
    for (let i = 0; i < 200 && open() > 0; i++) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    console.log(open());
  `;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--expose-gc", "--conditions=@centella/source", "--input-type=module", "-e", program],
      {
        encoding: "utf8",
        env: { ...process.env, NODE_OPTIONS: "" },
      },
    );
    expect({ stdout, stderr }).toEqual({ stdout: "1\n0\n", stderr: "" });
  },
);
