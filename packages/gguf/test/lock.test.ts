import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { diskStorage, type ModelStorage, type StorageLock } from "../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.useRealTimers());
let folders = 0;
const newStorage = (): Promise<ModelStorage> => diskStorage(join(folder, `${folders++}`));
const lockFiles = (storage: ModelStorage): string[] => readdirSync(storage.location).filter((name) => name.endsWith(".lock"));
const longAgo = new Date(0);

/** Leaves a lock file of `m` in the storage: that of this process with these changes. */
async function leaveLock(storage: ModelStorage, changes: object, file = "m.0123abcd.lock"): Promise<string> {
  const lock = await storage.lock("m");
  const own: object = JSON.parse(readFileSync(join(storage.location, lockFiles(storage)[0]!), "utf8"));
  await lock.release();
  const path = join(storage.location, file);
  writeFileSync(path, JSON.stringify({ ...own, ...changes }));
  return path;
}

async function expectFree(storage: ModelStorage): Promise<void> {
  await (await storage.lock("m")).release();
  expect(lockFiles(storage)).toEqual([]);
}

describe("a lock on disk", () => {
  test("holds until it is released, for its name alone", async () => {
    const storage = await newStorage();
    const lock = await storage.lock("m");
    await expect(storage.lock("m")).rejects.toMatchObject({ code: "busy" });
    await (await storage.lock("m.gguf")).release();
    await lock.release();
    await expectFree(storage);
  });

  test("that is busy names its file and its holder", async () => {
    const storage = await newStorage();
    await using _ = disposable(await storage.lock("m"));
    const path = join(storage.location, lockFiles(storage)[0]!);
    const message = await storage.lock("m").catch((error: Error) => error.message);
    expect(message).toContain(`'m' to be free, got a download of it in progress by process ${process.pid}; wait for it`);
    expect(message).toContain(`its lock ${path} expires in `);
  });

  test.each(["m.lock", "m.0123abcd.lock"])("without a readable holder counts as held while it is young: %s", async (file) => {
    const storage = await newStorage();
    await expectFree(storage);
    const path = join(storage.location, file);
    writeFileSync(path, "");
    await expect(storage.lock("m")).rejects.toMatchObject({ code: "busy" });
    utimesSync(path, longAgo, longAgo);
    await expectFree(storage);
  });

  test("of a process that is gone does not hold", async () => {
    const storage = await newStorage();
    await leaveLock(storage, { pid: spawnSync(process.execPath, ["-e", ""]).pid });
    await expectFree(storage);
  });

  test("of another process that had this one's id does not hold", async ({ skip }) => {
    if (process.platform !== "linux") return skip("only Linux says when a process started");
    const storage = await newStorage();
    await leaveLock(storage, { start: "1" });
    await expectFree(storage);
  });

  test("of another container or machine holds until it was not renewed for long", async () => {
    const storage = await newStorage();
    const path = await leaveLock(storage, { pid: 1, place: "another container" });
    await expect(storage.lock("m")).rejects.toThrow(/by process 1 of another container or machine; wait for it/);
    utimesSync(path, longAgo, longAgo);
    await expectFree(storage);
  });

  test("is renewed, and says so when it was taken over", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const storage = await newStorage();
    const lock = await storage.lock("m");
    const path = join(storage.location, lockFiles(storage)[0]!);
    utimesSync(path, longAgo, longAgo);
    vi.advanceTimersToNextTimer();
    await expect.poll(() => statSync(path).mtimeMs).toBeGreaterThan(0);
    await expect(storage.lock("m")).rejects.toMatchObject({ code: "busy" });
    expect(lock.lost!.aborted).toBe(false);
    // As if this process had been suspended.
    utimesSync(path, longAgo, longAgo);
    const next = await storage.lock("m");
    vi.advanceTimersToNextTimer();
    await expect.poll(() => lock.lost!.reason).toMatchObject({ code: "busy" });
    await lock.release();
    // The holder that lost it has removed nothing of the next one.
    await expect(storage.lock("m")).rejects.toMatchObject({ code: "busy" });
    await next.release();
    await expectFree(storage);
  });

  test("has at most one holder at a time, even while stale locks are taken over", async () => {
    const storage = await newStorage();
    let holders = 0;
    let wins = 0;
    const compete = async (): Promise<void> => {
      const lock = await storage.lock("m").catch(() => undefined);
      if (lock === undefined) return;
      wins++;
      expect(++holders).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 1));
      holders--;
      await lock.release();
    };
    for (let round = 0; round < 20; round++) {
      const path = await leaveLock(storage, {});
      utimesSync(path, longAgo, longAgo);
      await Promise.all(Array.from({ length: 6 }, compete));
    }
    expect(wins).toBeGreaterThan(0);
    await expectFree(storage);
  });
});

function disposable(lock: StorageLock): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => lock.release() };
}
