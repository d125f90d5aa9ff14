/*
 * Browsers do not say that a worker has ended, such as when it ran out of memory. Locks show it: a worker holds one as long as it runs, and
 * the page waits for it. Node, Deno and Bun report the end of a thread by its ports.
 */

/** The browser's locks; undefined elsewhere, and in pages that are not secure. */
function browserLocks(): LockManager | undefined {
  const { process, navigator } = globalThis as { process?: { getBuiltinModule?: unknown }; navigator?: { readonly locks?: LockManager } };
  return process?.getBuiltinModule === undefined ? navigator?.locks : undefined;
}

/** Holds a lock until this worker ends. Resolves to its name. */
export async function holdLifeLock(): Promise<string | undefined> {
  const locks = browserLocks();
  if (locks === undefined) return undefined;
  const name = `centella ${crypto.randomUUID()}`;
  await new Promise<void>((resolve) => {
    void locks.request(name, () => {
      resolve();
      return new Promise<void>(() => undefined);
    });
  });
  return name;
}

/** Calls back when the worker has ended that holds a lock. Does not after the signal was aborted. */
export function whenLifeEnds(name: string, ended: () => void, signal: AbortSignal): void {
  browserLocks()
    ?.request(name, { mode: "shared", signal }, ended)
    .catch(() => undefined);
}
