import { describe, isRecord } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import { ops } from "../ops/index.ts";
import type { Thresholds } from "./thresholdTypes.ts";

/** Checks thresholds that came from outside, such as a file. @throws {ArgumentError} naming the first wrong entry */
export function checkThresholds(given: Thresholds): Thresholds {
  const fail = (where: string, expected: string, value: unknown): never => {
    throw new ArgumentError("thresholds", `${where} to be ${expected}`, describe(value), "take what calibrate() gave");
  };
  const isAmount = (value: unknown): boolean => typeof value === "number" && value >= 0 && Number.isFinite(value);
  if (!isRecord(given)) fail("them", "an object of backends", given);
  for (const [backend, table] of Object.entries(given)) {
    if (!isRecord(table)) return fail(backend, "an object", table);
    for (const [key, entry] of Object.entries(table)) {
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
