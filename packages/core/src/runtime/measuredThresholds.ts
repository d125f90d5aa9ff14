import type { BackendThresholds } from "./thresholdTypes.ts";

/** Thresholds of a backend, where they are from, and how each was chosen. */
export interface MeasuredThresholds {
  readonly backend: string;
  /** The CPU backend with which it was compared. */
  readonly against: string;
  readonly measuredAt: string;
  readonly machine: string;
  readonly commit: string;
  readonly reasons: Readonly<Record<string, string>>;
  readonly thresholds: BackendThresholds;
}

/** Written by `pnpm bench calibrate --write`, which keeps the entries of backends that it did not measure; do not edit. */
export const measuredThresholds: readonly MeasuredThresholds[] = [
  {
    backend: "cuda",
    against: "wasm",
    measuredAt: "2026-11-21",
    machine: "Intel(R) Xeon(R) Processor family 6 model 207, 16 cores; NVIDIA H200, driver 580.159.04",
    commit: "bd54487ba9",
    reasons: {
      memory: "slower up to 50,331,648, the largest size in the budget, and no nearer to a gain",
      compute: "slower up to 524,288, faster from 4,194,304",
      program: "slower up to 2,113,536, faster from 16,842,752",
    },
    thresholds: {
      memory: {
        min: "never",
        unit: "bytes",
      },
      compute: {
        min: 1200000,
        unit: "flops",
      },
      program: {
        min: 5200000,
        unit: "flops",
      },
      transfer: {
        latencyUs: 240,
        bytesPerUs: 2100,
      },
    },
  },
  {
    backend: "wasm",
    against: "reference",
    measuredAt: "2026-11-21",
    machine: "AMD EPYC (Zen 4), 2 cores",
    commit: "",
    reasons: {
      compute: "awaited calls, three times 5 s, 1,400 to 1,600",
      memory: "awaited calls, three times 5 s, 18,000 to 20,000",
    },
    thresholds: {
      compute: {
        min: 1500,
        unit: "flops",
      },
      memory: {
        min: 19000,
        unit: "bytes",
      },
    },
  },
  {
    backend: "webgpu",
    against: "wasm",
    measuredAt: "2026-11-21",
    machine: "Intel(R) Xeon(R) Processor family 6 model 207, 16 cores; NVIDIA H200, driver 580.159.04",
    commit: "bd54487ba9",
    reasons: {
      memory: "slower up to 196,608, faster from 786,432",
      compute: "slower up to 524,288, faster from 4,194,304",
      program: "slower up to 2,113,536, faster from 16,842,752",
    },
    thresholds: {
      memory: {
        min: 330000,
        unit: "bytes",
      },
      compute: {
        min: 1500000,
        unit: "flops",
      },
      program: {
        min: 3900000,
        unit: "flops",
      },
      transfer: {
        latencyUs: 56,
        bytesPerUs: 3000,
      },
    },
  },
];
