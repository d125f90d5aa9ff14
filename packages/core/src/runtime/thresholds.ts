import { describe, isRecord } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import { type OpName, ops } from "../ops/index.ts";
import { measuredThresholds } from "./measuredThresholds.ts";

/** Least work of a call for which a backend is worth its fixed costs, on data that lies on the host. */
export interface Threshold {
  /** "never": no amount of work repays the transfer. */
  readonly min: number | "never";
  readonly unit: "flops" | "bytes";
}

/** What moving data between the host and a backend costs, in either direction: `latencyUs + bytes / bytesPerUs` microseconds. */
export interface Transfer {
  readonly latencyUs: number;
  /** 1 is 1 MB/s. */
  readonly bytesPerUs: number;
}

/**
 * What is known about one backend. Thresholds go by op, else by the op's class: "compute" for ops that do many flops per byte
 * (`AnyOp.computeBound`), "memory" for the others; "program" is for a whole compiled program per run. Where there is none,
 * any work is enough.
 */
export type BackendThresholds = Readonly<Partial<Record<OpName | "compute" | "memory" | "program", Threshold>>> & {
  readonly transfer?: Transfer;
};

/** By backend. Plain data: it can be stored as JSON and read again. */
export type Thresholds = Readonly<Record<string, BackendThresholds | undefined>>;

/**
 * Measured crossovers; data that lives on a device already has no transfer to repay and is not held to them. When, where and how each was
 * chosen stands in {@link measuredThresholds}.
 */
export const thresholds: Thresholds = Object.fromEntries(measuredThresholds.map(({ backend, thresholds: table }) => [backend, table]));

/** `base`, where `own` says nothing about a backend and an op or class. */
export function mergeThresholds(base: Thresholds, own: Thresholds): Thresholds {
  return { ...base, ...Object.fromEntries(Object.entries(own).map(([backend, table]) => [backend, { ...base[backend], ...table }])) };
}

/** Checks thresholds that came from outside, such as a file. @throws {ArgumentError} naming the first wrong entry */
export function checkThresholds(given: Thresholds): Thresholds {
  const fail = (where: string, expected: string, value: unknown): never => {
    throw new ArgumentError("thresholds", `${where} to be ${expected}`, describe(value), "take what calibrate() gave");
  };
  const isAmount = (value: unknown): boolean => typeof value === "number" && value >= 0 && Number.isFinite(value);
  if (!isRecord(given)) fail("them", "an object of backends", given);
  for (const [backend, table] of Object.entries(given)) {
    if (!isRecord(table)) fail(backend, "an object", table);
    for (const [key, entry] of Object.entries(table!)) {
      const where = `${backend}.${key}`;
      if (!isRecord(entry)) fail(where, "an object", entry);
      const { min, unit, latencyUs, bytesPerUs }: Record<string, unknown> = { ...entry };
      if (key === "transfer") {
        if (!isAmount(latencyUs)) fail(`${where}.latencyUs`, "a number from 0", latencyUs);
        if (!isAmount(bytesPerUs) || bytesPerUs === 0) fail(`${where}.bytesPerUs`, "a number above 0", bytesPerUs);
        continue;
      }
      if (!Object.hasOwn(ops, key) && !["compute", "memory", "program"].includes(key)) fail(where, "an op, a class or transfer", key);
      if (min !== "never" && !isAmount(min)) fail(`${where}.min`, 'a number from 0 or "never"', min);
      if (unit !== "flops" && unit !== "bytes") fail(`${where}.unit`, '"flops" or "bytes"', unit);
    }
  }
  return given;
}
