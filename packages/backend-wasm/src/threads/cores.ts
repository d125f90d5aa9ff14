/** Maximum number of threads by default. More would wait for memory. */
const maxAutoThreads = 8;

interface Files {
  readFileSync(path: string, encoding: "utf8"): string;
}

/** Default number of threads: the cores that the process may use. */
export function autoThreads(read: (path: string) => string | undefined = readFile): number {
  const { navigator } = globalThis as { navigator?: { readonly hardwareConcurrency?: number } };
  const logical = navigator?.hardwareConcurrency ?? 1;
  return Math.max(1, Math.min(maxAutoThreads, logical, coresOf(read) ?? logical));
}

/**
 * Number of cores, from the processors that share one on Linux. Hyperthreads of a core take turns at its vector units
 * and caches.
 */
function coresOf(read: (path: string) => string | undefined): number | undefined {
  const cores = new Set<string>();
  for (let cpu = 0; ; cpu++) {
    const siblings = read(`/sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`);
    if (siblings === undefined) return cores.size > 0 ? cores.size : undefined;
    cores.add(siblings.trim());
  }
}

function readFile(path: string): string | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): Files } };
  try {
    return process?.getBuiltinModule?.("node:fs").readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
