import { readFileSync } from "node:fs";

/**
 * Largest resident set of this process so far, in bytes. Linux keeps the figure of `getrusage` across `exec`: a process that a
 * larger one started reports its parent's, so `/proc` is asked first.
 */
export function peakResidentBytes(): number {
  try {
    const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    if (kibibytes !== undefined) return Number(kibibytes) * 1024;
  } catch {
    // No such file on other systems.
  }
  return process.resourceUsage().maxRSS * 1024;
}
