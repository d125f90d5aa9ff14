/** Bytes that programs may take on this host, and a phrase for messages that says where the number comes from. */
export interface HostMemory {
  readonly bytes: number;
  readonly source: string;
}

interface Platform {
  readonly process?: { readonly availableMemory?: () => number };
  readonly navigator?: { readonly deviceMemory?: number };
}

const unknownMemory = 4 * 2 ** 30;

/** Returns the free memory in Node, and half of the device's memory in a browser that reports it. */
export function hostMemory(): HostMemory {
  const { process, navigator } = globalThis as Platform;
  const free = process?.availableMemory?.();
  if (free !== undefined && free > 0) return { bytes: free, source: "the free memory" };
  const device = navigator?.deviceMemory;
  if (device !== undefined) return { bytes: (device * 2 ** 30) / 2, source: "half the device's memory" };
  return { bytes: unknownMemory, source: "4 GiB, a guess: the platform does not report its memory" };
}
