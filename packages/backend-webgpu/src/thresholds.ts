import type { BackendThresholds, MeasuredThresholds } from "@centella/core/backend";

// Written by `pnpm bench calibrate --write`; do not edit.

/** From how much work on the backend is worth its fixed costs. */
export const thresholds: BackendThresholds = {
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
};

/** Where the thresholds are from: a record for readers. @public */
export const origin: Omit<MeasuredThresholds, "thresholds"> = {
  against: "wasm",
  measuredAt: "2026-11-21",
  machine: "Intel(R) Xeon(R) Processor family 6 model 207, 16 cores; NVIDIA H200, driver 580.159.04",
  commit: "bd54487ba9",
  reasons: {
    memory: "slower up to 196,608, faster from 786,432",
    compute: "slower up to 524,288, faster from 4,194,304",
    program: "slower up to 2,113,536, faster from 16,842,752",
  },
};
