import { readdirSync, readFileSync } from "node:fs";

/** Memory of processes in bytes; what they share counts once. */
function proportionalBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + 1024 * Number(/^Pss:\s*(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0), 0);
}

/** All processes that this one has started, and those that they have started. */
function descendants(): readonly number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), Number(/^PPid:\s*(\d+)$/m.exec(read(`/proc/${name}/status`))?.[1] ?? 0)] as const);
  const found = new Set([process.pid]);
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  found.delete(process.pid);
  return [...found];
}

/** The text of a file, or none if its process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The greatest memory that the processes of a browser took together while `work` ran, and what they took before. Linux only. */
export async function peakMemory(work: () => Promise<void>): Promise<{ readonly beforeBytes: number; readonly peakBytes: number }> {
  const beforeBytes = proportionalBytes(descendants());
  let peakBytes = beforeBytes;
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, proportionalBytes(descendants()));
  }, 100);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return { beforeBytes, peakBytes };
}
