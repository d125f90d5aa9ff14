import type { BackendThresholds, MeasuredThresholds } from "@centella/core/backend";

// Written by `pnpm bench calibrate --write`; do not edit.

/** From how much work on the backend is worth its fixed costs. */
export const thresholds: BackendThresholds = {
  compute: {
    min: 1500,
    unit: "flops",
  },
  memory: {
    min: 19000,
    unit: "bytes",
  },
};

/** Where the thresholds are from: a record for readers. @public */
export const origin: Omit<MeasuredThresholds, "thresholds"> = {
  against: "reference",
  measuredAt: "2026-11-21",
  machine: "AMD EPYC (Zen 4), 2 cores",
  commit: "",
  reasons: {
    compute: "awaited calls, three times 5 s, 1,400 to 1,600",
    memory: "awaited calls, three times 5 s, 18,000 to 20,000",
  },
};
