import type { MeasuredThresholds } from "@centella/core/backend";

/** Written by `pnpm bench calibrate --write`; do not edit. */
export const measured: MeasuredThresholds = {
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
};
