import type { BackendThresholds } from "./thresholds.ts";

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
    against: "webgpu",
    measuredAt: "2026-11-20",
    machine: "none",
    commit: "",
    reasons: {
      compute: "not measured: the predecessor's rule, a GPU for matmul from about 500×500 (2 · 500³ flops)",
      memory: "not measured: the predecessor's rule, never for vector ops over PCIe",
    },
    thresholds: {
      compute: { min: 250000000.0, unit: "flops" },
      memory: { min: "never", unit: "bytes" },
      transfer: { latencyUs: 20, bytesPerUs: 10000 },
    },
  },
  {
    backend: "wasm",
    against: "reference",
    measuredAt: "2026-11-21",
    machine: "AMD EPYC (Zen 4), 2 cores",
    commit: "",
    reasons: { compute: "awaited calls, three times 5 s, 1,400 to 1,600", memory: "awaited calls, three times 5 s, 18,000 to 20,000" },
    thresholds: { compute: { min: 1500, unit: "flops" }, memory: { min: 19000, unit: "bytes" } },
  },
  {
    backend: "webgpu",
    against: "wasm",
    measuredAt: "2026-11-20",
    machine: "none",
    commit: "",
    reasons: {
      compute: "not measured: the predecessor's rule, a GPU for matmul from about 500×500 (2 · 500³ flops)",
      memory: "not measured: the predecessor's rule, never for vector ops over PCIe",
      program: "not measured: as for matmul",
    },
    thresholds: {
      compute: { min: 250000000.0, unit: "flops" },
      memory: { min: "never", unit: "bytes" },
      program: { min: 250000000.0, unit: "flops" },
      transfer: { latencyUs: 200, bytesPerUs: 4000 },
    },
  },
];
