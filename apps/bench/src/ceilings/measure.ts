import { type Estimate, estimateMedian, type Passes } from "../stats/bootstrap.ts";
import { ceilingModule, dotKernels, dotOps, fmaFlops, hasRelaxedSimd, streamBytes } from "./kernels.ts";
import { Threads } from "./threads.ts";
import type { Job } from "./worker.ts";

/** Best rate of a number of threads of this machine together, in the WASM instructions of kernels; or a GPU's copy rate. */
export interface Ceiling {
  readonly kind: "flops" | "dots" | "read" | "copy";
  /** 0 on a GPU. */
  readonly threads: number;
  /** The backend whose device it is; absent for the CPU. */
  readonly backend?: string;
  /** Flops, additions and multiplications of bytes, or bytes (read and written ones added up), of one sample. */
  readonly work: number;
  /** Seconds. */
  readonly samples: Passes;
}

export interface CeilingOptions {
  /** Largest number of threads. */
  readonly threads: number;
  /** Bytes that are streamed, well above the last-level cache. */
  readonly bytes: number;
  readonly quick: boolean;
}

/** Measures arithmetic, in f32 and of bytes in the way that is fastest here, and memory at 1 thread, powers of two, and all threads. */
export async function measureCeilings({ threads: most, bytes, quick }: CeilingOptions): Promise<readonly Ceiling[]> {
  const threads = await Threads.open(most, new WebAssembly.Module(ceilingModule(hasRelaxedSimd())));
  try {
    const measured: Ceiling[] = [];
    for (const count of threadCounts(most)) {
      const half = Math.ceil(bytes / 2 / count / streamBytes) * streamBytes;
      const each = (job: Job): Job[] => Array.from({ length: count }, () => job);
      threads.run(each({ kernel: "allocate", args: [2 * half] }));
      const iterations = 200_000;
      const jobs = [
        { kind: "flops", work: fmaFlops * iterations * count, job: { kernel: "fma", args: [iterations] } },
        { kind: "read", work: 2 * half * count, job: { kernel: "read", args: [0, 2 * half] } },
        { kind: "copy", work: 2 * half * count, job: { kernel: "copy", args: [0, half, half] } },
      ] as const;
      for (const { kind, work, job } of jobs) measured.push({ kind, threads: count, work, samples: sample(threads, each(job), quick) });
      const dots = dotKernels(hasRelaxedSimd()).map((kernel): Ceiling => {
        const samples = sample(threads, each({ kernel, args: [iterations] }), quick);
        return { kind: "dots", threads: count, work: dotOps[kernel] * iterations * count, samples };
      });
      measured.push(dots.reduce((a, b) => (ceilingRate(b).median > ceilingRate(a).median ? b : a)));
    }
    return measured;
  } finally {
    await threads.dispose();
  }
}

/** The faster measurement of each ceiling: a ceiling is the highest observed rate. */
export function fasterCeilings(first: readonly Ceiling[], second: readonly Ceiling[]): readonly Ceiling[] {
  return first.map((ceiling) => {
    const again = second.find(({ kind, threads }) => kind === ceiling.kind && threads === ceiling.threads);
    return again !== undefined && ceilingRate(again).median > ceilingRate(ceiling).median ? again : ceiling;
  });
}

/** Rate of a ceiling: flops, ops or bytes per second. */
export function ceilingRate({ kind, threads, work, samples }: Ceiling): Estimate {
  const { median, low, high } = estimateMedian(samples, threads * 31 + kind.length);
  return { median: work / median, low: work / high, high: work / low };
}

/**
 * The ceiling of a subject: arithmetic of its number of threads, or the best memory rate of up to that number. `threads` is undefined on a
 * GPU, whose copy rate also bounds reading.
 */
export function ceilingFor(ceilings: readonly Ceiling[], kind: Ceiling["kind"], threads: number | undefined): number | undefined {
  if (threads === undefined) {
    const gpu = ceilings.find(({ backend }) => backend !== undefined);
    return gpu === undefined || kind === "flops" || kind === "dots" ? undefined : ceilingRate(gpu).median;
  }
  const rates = ceilings
    .filter((ceiling) => ceiling.backend === undefined && ceiling.kind === kind && ceiling.threads <= threads)
    .map((ceiling) => ({ threads: ceiling.threads, rate: ceilingRate(ceiling).median }));
  if (rates.length === 0) return undefined;
  if (kind === "read" || kind === "copy") return Math.max(...rates.map(({ rate }) => rate));
  const nearest = rates.reduce((a, b) => (b.threads > a.threads ? b : a));
  return (nearest.rate / nearest.threads) * threads;
}

function sample(threads: Threads, jobs: readonly Job[], quick: boolean): Passes {
  // Two runs let the engine replace its first, slow code.
  for (let i = 0; i < 3; i++) threads.run(jobs);
  return Array.from({ length: 5 }, () => Array.from({ length: quick ? 2 : 5 }, () => threads.run(jobs)));
}

function threadCounts(most: number): readonly number[] {
  const counts = [];
  for (let count = 1; count < most; count *= 2) counts.push(count);
  return [...counts, most];
}
