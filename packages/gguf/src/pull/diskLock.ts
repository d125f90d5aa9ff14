import { GgufError } from "../errors.ts";
import { nodeProcess, requireNodeModule } from "../source/nodeModule.ts";
import { isCode, unlessMissing } from "../source/systemError.ts";
import { uniqueId } from "../source/uniqueId.ts";
import type { StorageLock } from "./storage.ts";

/** Interval at which a holder writes its lock file again to show that it is alive. */
const beatMs = 3_000;

/** Age from which a lock file counts as stale: ten beats, because a busy disk can delay a few. */
const staleMs = 30_000;

/** Number of claims before giving up, if other processes claim at the same time. */
const mostClaims = 5;

/** The process that wrote a lock file. */
interface Holder {
  readonly pid: number;
  /** Start time in ticks since boot (Linux), because a later process may get the same id. */
  readonly start?: string | undefined;
  /** Scope of the process id: the boot of the machine and the namespace of the container. Undefined if unknown. */
  readonly place?: string | undefined;
}

/** A lock file of another process. */
interface Rival {
  readonly path: string;
  /** Undefined while the claim is undecided. */
  readonly holder: Holder | undefined;
  /** Whether its process is in another container or on another machine, so that this process cannot check it. */
  readonly isElsewhere: boolean;
  readonly ageMs: number;
}

/**
 * Locks `name` by a file `NAME.ID.lock` in `folder`. Each claim has its own file, which is empty at first. A process creates its file and
 * looks for live files of other processes. If there are none, it holds the lock and writes its identity; otherwise it withdraws. So two
 * processes can never hold the lock, and removing a stale file can never remove the lock of another process.
 *
 * A lock file is stale if its process is gone, or if it was not written for {@link staleMs} by the clock of the file system. The second
 * rule ends locks of killed containers and of other machines, whose processes cannot be checked.
 * @throws {GgufError} `busy`
 */
export async function lockOnDisk(folder: string, name: string): Promise<StorageLock> {
  for (let claims = 1; ; claims++) {
    const claim = await createClaim(folder, name);
    try {
      const rival = await findRival(folder, name, claim);
      if (rival === undefined) return await hold(claim, name);
      if (rival.holder !== undefined || claims === mostClaims) throw busy(name, rival);
      await claim.withdraw();
    } catch (error) {
      await claim.withdraw();
      throw error;
    }
    // Two simultaneous claims both withdraw. A random delay keeps the next claims apart.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * claims));
  }
}

interface Claim {
  readonly file: string;
  readonly path: string;
  readonly createdMs: number;
  write(bytes: Uint8Array): Promise<void>;
  withdraw(): Promise<void>;
}

async function createClaim(folder: string, name: string): Promise<Claim> {
  const { open, rm, stat } = requireNodeModule("node:fs/promises", folder);
  const file = `${name}.${uniqueId()}.lock`;
  const path = `${folder}/${file}`;
  const handle = await open(path, "wx");
  return {
    file,
    path,
    createdMs: (await stat(path)).mtimeMs,
    write: async (bytes) => void (await handle.write(bytes, 0, bytes.length, 0)),
    async withdraw() {
      await handle.close();
      await rm(path, { force: true });
    },
  };
}

/** Writes the holder into a claim, and renews it until it is released. */
async function hold(claim: Claim, name: string): Promise<StorageLock> {
  const { stat } = requireNodeModule("node:fs/promises", claim.path);
  const lost = new AbortController();
  const content = new TextEncoder().encode(JSON.stringify(await thisProcess()));
  await claim.write(content);
  const beat = async (): Promise<void> => {
    await claim.write(content);
    if ((await unlessMissing(stat(claim.path))) === undefined) lost.abort(takenOver(name));
  };
  const timer = setInterval(() => void beat().catch(() => undefined), beatMs);
  // Node's timers are objects; unref() lets the process end without waiting for this one.
  (timer as { unref?(): void }).unref?.();
  return {
    lost: lost.signal,
    async release() {
      clearInterval(timer);
      await claim.withdraw();
    },
  };
}

/** Returns a live lock of another holder, and removes stale ones. */
async function findRival(folder: string, name: string, own: Claim): Promise<Rival | undefined> {
  const fs = requireNodeModule("node:fs/promises", folder);
  const place = await thisPlace();
  for (const file of await fs.readdir(folder)) {
    if (file === own.file || !isLockOf(name, file)) continue;
    const path = `${folder}/${file}`;
    const stat = await unlessMissing(fs.stat(path));
    const text = await unlessMissing(fs.readFile(path, "utf8"));
    if (stat === undefined || text === undefined) continue;
    const holder = holderOf(text);
    const ageMs = own.createdMs - stat.mtimeMs;
    const isElsewhere = place === undefined || holder?.place !== place;
    const isGone = holder !== undefined && !isElsewhere && (await hasEnded(holder));
    if (ageMs <= staleMs && !isGone) return { path, holder, isElsewhere, ageMs };
    await fs.rm(path, { force: true });
  }
  return undefined;
}

function isLockOf(name: string, file: string): boolean {
  return file.startsWith(name) && /^(\.[\da-f]{8})?\.lock$/.test(file.slice(name.length));
}

function holderOf(text: string): Holder | undefined {
  try {
    const { pid, start, place } = JSON.parse(text) as { readonly [key in keyof Holder]?: unknown };
    if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return undefined;
    return { pid, start: typeof start === "string" ? start : undefined, place: typeof place === "string" ? place : undefined };
  } catch {
    return undefined;
  }
}

/** Whether the process of a holder in this scope is gone, or its id belongs to a later process. */
async function hasEnded({ pid, start }: Holder): Promise<boolean> {
  if (!exists(pid)) return true;
  const startNow = await startOf(pid === nodeProcess().pid ? "self" : String(pid));
  return start !== undefined && startNow !== undefined && start !== startNow;
}

function exists(pid: number): boolean {
  try {
    return nodeProcess().kill(pid, 0);
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

async function thisProcess(): Promise<Holder> {
  return { pid: nodeProcess().pid, start: await startOf("self"), place: await thisPlace() };
}

/** Returns the scope of this process's id. */
async function thisPlace(): Promise<string | undefined> {
  const { readFile, readlink } = requireNodeModule("node:fs/promises", "/proc");
  if (nodeProcess().platform !== "linux") return requireNodeModule("node:os", "/proc").hostname();
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    return `${boot.trim()} ${await readlink("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

/** Returns the start time of a process if `/proc` has it. In a new namespace, `/proc` may still be that of the old one. */
async function startOf(pid: string): Promise<string | undefined> {
  const { readFile, readlink } = requireNodeModule("node:fs/promises", "/proc");
  try {
    if (pid !== "self" && (await readlink("/proc/self")) !== String(nodeProcess().pid)) return undefined;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain any characters. Field 22, counted from the start of the line, is `starttime`.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

function busy(name: string, { path, holder, isElsewhere, ageMs }: Rival): GgufError {
  const seconds = Math.max(1, Math.ceil((staleMs - ageMs) / 1000));
  const where = isElsewhere ? " of another container or machine" : "";
  return new GgufError("busy", {
    expected: `'${name}' to be free`,
    got: `a download of it in progress${holder === undefined ? "" : ` by process ${holder.pid}${where}`}`,
    hint: `wait for it, then try again; if that process is gone, its lock ${path} expires in ${seconds} s`,
  });
}

function takenOver(name: string): GgufError {
  return new GgufError("busy", {
    expected: `the lock of '${name}' to be kept`,
    got: "a lock that was removed or taken over while this process was suspended",
    hint: "try again",
  });
}
