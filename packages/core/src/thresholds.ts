import type { OpName } from "./ops/index.ts";

/** Least work for which a backend is worth its fixed costs: flops for compute-bound ops, bytes for memory-bound ones. */
export interface Threshold {
  readonly min: number;
  readonly unit: "flops" | "bytes";
}

/** Per backend: a threshold per op, `default` for the other ops, `program` for a whole compiled program per run. */
export type Thresholds = Readonly<Record<string, Readonly<Partial<Record<OpName | "default" | "program", Threshold>>> | undefined>>;

/**
 * Crossovers for data on the host; data that lives on a device already has no transfer to repay and is not held to them.
 * 2026-11-20, not measured yet: the seeds' rule, a GPU for matmul from about 500×500 (2 · 500³ flops) and for vector ops never.
 */
export const thresholds: Thresholds = {
  cuda: {
    matmul: { min: 2.5e8, unit: "flops" },
    conv2d: { min: 2.5e8, unit: "flops" },
    default: { min: Number.POSITIVE_INFINITY, unit: "bytes" },
  },
  webgpu: {
    matmul: { min: 2.5e8, unit: "flops" },
    conv2d: { min: 2.5e8, unit: "flops" },
    default: { min: Number.POSITIVE_INFINITY, unit: "bytes" },
    program: { min: 2.5e8, unit: "flops" },
  },
};
