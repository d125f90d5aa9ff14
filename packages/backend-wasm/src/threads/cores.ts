/** Most threads that are taken without being asked for: more of them wait for memory. */
const maxAutoThreads = 8;

interface Files {
  readFileSync(path: string, encoding: "utf8"): string;
}

/** Threads that suit the machine: as many as it has cores, and as the process may use. */
export function autoThreads(read: (path: string) => string | undefined = readFile): number {
  const { navigator } = globalThis as { navigator?: { readonly hardwareConcurrency?: number } };
  const logical = navigator?.hardwareConcurrency ?? 1;
  return Math.max(1, Math.min(maxAutoThreads, logical, coresOf(read) ?? logical));
}

/** Cores, told on Linux by which processors share one: two threads of a core have its vector units and caches in turn. */
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
