import { GgufError } from "../errors.ts";
import { nodeProcess, requireNodeModule } from "../source/nodeModule.ts";
import { isCode, unlessMissing } from "../source/systemError.ts";
import { uniqueId } from "../source/uniqueId.ts";
import type { StorageLock } from "./storage.ts";

/** How often a holder shows that it is alive, by writing its lock file again. */
const beatMs = 3_000;

/** Age from which a lock file counts as left behind. Ten beats: a busy disk can hold up a few. */
const staleMs = 30_000;

/** Claims before giving up, if others claim at the same time. */
const mostClaims = 5;

/** The process that wrote a lock file. */
interface Holder {
  readonly pid: number;
  /** When it started, in ticks since boot (Linux): another process may be given the same id later. */
  readonly start?: string | undefined;
  /** Where the id means this process: the boot of a machine and the namespace of a container. Undefined where that is unknown. */
  readonly place?: string | undefined;
}

/** A lock file of another process. */
interface Rival {
  readonly path: string;
  /** Undefined for a claim that is not decided. */
  readonly holder: Holder | undefined;
  /** Whether its process is not one of those that this one can ask for. */
  readonly isElsewhere: boolean;
  readonly ageMs: number;
}

/**
 * Locks `name` by a file `NAME.ID.lock` in `folder`. Each claim is a file of its own, empty at first. A process that finds no other live one
 * after creating its own holds the lock, and writes who it is; otherwise it withdraws. So two can never hold it, and removing a file that
 * was left behind can never remove the lock of someone else.
 *
 * A lock file is left behind if its process is gone, or if it was not written for {@link staleMs} by the clock of the file system. The
 * latter ends locks of killed containers and of other machines, whose processes cannot be asked for.
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
    // Two that claim at the same moment both withdraw: their next claims should not coincide.
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

/** Writes the holder into a claim, again and again until it is released. */
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
  // In Node an object: a process ends without waiting for it.
  (timer as { unref?(): void }).unref?.();
  return {
    lost: lost.signal,
    async release() {
      clearInterval(timer);
      await claim.withdraw();
    },
  };
}

/** A live lock of another holder. Removes those that are left behind. */
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

/** Whether the process of a holder here is gone, or is another one that was given its id. */
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

/** Where the ids of processes are the same as here. */
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

/** When a process started, where `/proc` tells and counts processes as this one does (in a new namespace it may be that of the old). */
async function startOf(pid: string): Promise<string | undefined> {
  const { readFile, readlink } = requireNodeModule("node:fs/promises", "/proc");
  try {
    if (pid !== "self" && (await readlink("/proc/self")) !== String(nodeProcess().pid)) return undefined;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // Fields follow the name in parentheses, which may have any characters; the 22nd of all is `starttime`.
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
    got: `another download of it under way${holder === undefined ? "" : `, by process ${holder.pid}${where}`}`,
    hint: `wait for it, then try again; if that process is gone, its lock ${path} expires in ${seconds} s`,
  });
}

function takenOver(name: string): GgufError {
  return new GgufError("busy", {
    expected: `the lock of '${name}' to be kept`,
    got: "another process that took it over, or its removal, while this process was suspended",
    hint: "try again",
  });
}
