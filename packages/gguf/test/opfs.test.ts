import { afterEach, describe, expect, test, vi } from "vitest";
import { listModels, openSource, opfsStorage, pull, readGguf, removeModel } from "../src/index.ts";
import { randomFrom, randomModel, serveHub } from "./faultyHub.ts";
import { FakeFolder } from "./opfsFolder.ts";

afterEach(() => void vi.useRealTimers());

test.each([true, false])("in a worker: %s; a cut pull is taken up again", async (isWorker) => {
  const bytes = randomModel(300_000, randomFrom(15));
  const starts: string[] = [];
  await using hub = await serveHub(
    { "m.gguf": bytes },
    (request) => {
      starts.push(request.headers.range ?? "");
      return starts.length === 1 ? "cut" : "none";
    },
    () => 0.5,
  );
  const folder = new FakeFolder(isWorker);
  const storage = await opfsStorage(folder);
  const options = { storage, endpoint: hub.url, backoffMs: 1, stallMs: 60_000, retries: 0 };
  await expect(pull("hf:o/r", options)).rejects.toMatchObject({ code: "io" });
  const kept = folder.bytesOf("o--r--m.gguf.partial").length;
  expect(kept).toBeGreaterThan(0);
  const { input } = await pull("hf:o/r", options);
  expect(starts).toEqual(["bytes=0-", `bytes=${kept}-`]);
  expect(Buffer.from(bytes).equals(folder.bytesOf("o--r--m.gguf"))).toBe(true);
  expect((await readGguf(input)).hasTensor("t")).toBe(true);
  expect(await listModels(storage)).toHaveLength(1);
  await removeModel(storage, "hf:o/r");
  expect([...folder.files.keys()]).toEqual([]);
});

describe("a writer in a worker", () => {
  const bytesFrom = (length: number, first: number): Uint8Array<ArrayBuffer> => Uint8Array.from({ length }, (_, i) => first + i);

  test("writes small pieces together, large ones at once, and all of them in order", async () => {
    const folder = new FakeFolder(true);
    const writer = await (await opfsStorage(folder)).write("a", 0);
    const lengths = [...Array<number>(68).fill(65_536), 5_000_000, 7];
    for (const [i, length] of lengths.entries()) {
      const piece = bytesFrom(length, i);
      await writer.write(piece);
      // The caller may use its memory again.
      piece.fill(0);
    }
    await writer.close();
    const expected = Buffer.concat(lengths.map((length, i) => bytesFrom(length, i)));
    expect(expected.equals(folder.bytesOf("a"))).toBe(true);
    expect(folder.writes).toEqual([2 ** 22, 4 * 65_536, 5_000_000, 7]);
    expect(folder.open.size).toBe(0);
  });

  test("reserves room for the file, which has only the bytes that were written", async () => {
    const folder = new FakeFolder(true);
    folder.put("a", bytesFrom(100, 0));
    const storage = await opfsStorage(folder);
    const writer = await storage.write("a", 40, 1_000);
    expect([folder.largest, folder.bytesOf("a").length]).toEqual([1_000, 40]);
    await writer.write(bytesFrom(50, 40));
    await writer.close();
    expect(Buffer.from(bytesFrom(90, 0)).equals(folder.bytesOf("a"))).toBe(true);
    // A pull says how large its file is.
    const model = randomModel(300_000, randomFrom(16));
    await using hub = await serveHub({ "m.gguf": model }, () => "none");
    const write = vi.spyOn(storage, "write");
    await pull("hf:o/r", { storage, endpoint: hub.url });
    expect(write).toHaveBeenCalledWith("o--r--m.gguf.partial", 0, model.length);
  });

  test("without room keeps what fits, closes its handle, and fails once", async () => {
    const folder = new FakeFolder(true);
    folder.room = 4_200_000;
    const storage = await opfsStorage(folder);
    const writer = await storage.write("a", 0);
    await writer.write(new Uint8Array(2 ** 22));
    await writer.write(new Uint8Array(2 ** 22));
    await expect(writer.write(new Uint8Array(2 ** 22))).rejects.toMatchObject({ code: "quota" });
    await writer.close();
    expect([folder.bytesOf("a").length, folder.open.size]).toEqual([4_200_000, 0]);
    folder.room = 10;
    const last = await storage.write("b", 0, 11);
    await last.write(new Uint8Array(11));
    await expect(last.close()).rejects.toMatchObject({ code: "quota" });
    expect([folder.bytesOf("b").length, folder.open.size]).toEqual([10, 0]);
  });

  test("stores what a stalled download has brought, and says at the next call that there was no room", async () => {
    vi.useFakeTimers();
    const folder = new FakeFolder(true);
    const storage = await opfsStorage(folder);
    const writer = await storage.write("a", 0);
    await writer.write(bytesFrom(50, 0));
    vi.advanceTimersByTime(100);
    await writer.write(bytesFrom(50, 50));
    vi.advanceTimersByTime(100);
    expect(Buffer.from(bytesFrom(100, 0)).equals(folder.bytesOf("a"))).toBe(true);
    folder.room = 10;
    for (const call of [() => writer.write(bytesFrom(1, 0)), () => writer.close()]) {
      await writer.write(bytesFrom(11, 0));
      vi.advanceTimersByTime(200);
      await expect(call()).rejects.toMatchObject({ code: "quota" });
    }
    expect([folder.bytesOf("a").length, folder.open.size, vi.getTimerCount()]).toEqual([110, 0, 0]);
  });
});

describe("a stored file in a worker", () => {
  const bytes = Uint8Array.from({ length: 25_000 }, (_, i) => i % 251);
  const stored = async (): Promise<FakeFolder> => {
    const folder = new FakeFolder(true);
    folder.put("a", bytes.slice());
    return folder;
  };

  test("is read by an access handle, into memory that threads share, and closed after a while", async () => {
    vi.useFakeTimers();
    const folder = await stored();
    const source = await openSource(await (await opfsStorage(folder)).input("a"));
    const target = new Uint8Array(new SharedArrayBuffer(23_000));
    await source.readInto!(target, 1_000);
    expect(Buffer.from(target).equals(bytes.subarray(1_000, 24_000))).toBe(true);
    expect(await source.read(7, 3)).toEqual(bytes.subarray(7, 10));
    expect([folder.reads, folder.open.size]).toEqual([4, 1]);
    vi.runAllTimers();
    vi.useRealTimers();
    await expect.poll(() => folder.open.size).toBe(0);
    expect(await source.read(24_999, 1)).toEqual(bytes.subarray(24_999));
    await source.close?.();
    expect(folder.open.size).toBe(0);
  });

  test("is read without a handle while another page has the only one", async () => {
    const folder = await stored();
    const source = await openSource(await (await opfsStorage(folder)).input("a"));
    folder.open.add("a");
    expect(await source.read(7, 3)).toEqual(bytes.subarray(7, 10));
    folder.open.delete("a");
    expect([folder.reads, await source.read(7, 3)]).toEqual([0, bytes.subarray(7, 10)]);
    expect(folder.reads).toBe(1);
    await source.close?.();
  });

  test("is never read as another file that has taken its name", async () => {
    const folder = await stored();
    const source = await openSource(await (await opfsStorage(folder)).input("a"));
    folder.put("a", new Uint8Array(25_000));
    expect(await source.read(7, 3)).toEqual(bytes.subarray(7, 10));
    expect([folder.reads, folder.open.size]).toEqual([0, 0]);
  });

  test("is removed, replaced and written once readers have closed their handles", async () => {
    const folder = await stored();
    folder.put("b", bytes.slice());
    folder.put("c", bytes.slice());
    const storage = await opfsStorage(folder);
    for (const name of ["a", "b", "c"]) await (await openSource(await storage.input(name))).read(0, 1);
    expect(folder.open.size).toBe(3);
    await storage.remove("a");
    await storage.rename("b", "c");
    await (await storage.write("c", 0)).close();
    expect([...folder.files.keys()]).toEqual(["c"]);
  });

  test("that stays in use is an error, which says so", async () => {
    vi.useFakeTimers();
    const folder = await stored();
    folder.open.add("a");
    const removed = (await opfsStorage(folder)).remove("a");
    const error = expect(removed).rejects.toMatchObject({ code: "busy", got: "a use of it in progress in another tab or worker" });
    await vi.runAllTimersAsync();
    await error;
  });
});
