import { expect, test } from "vitest";
import { convertedWarnings } from "../src/backend/convertedWarnings.ts";
import type { DType } from "../src/dtype.ts";

test("converted weights: one warning for each dtype, with what it costs", () => {
  const weight = (dtype: DType, storedBytes: number, bytes: number, convertedTo?: string) => {
    return { persistent: { spec: { dtype, shape: [1] } }, storedBytes, bytes, convertedTo };
  };
  const weights = [
    weight("iq2_xxs", 3 * 2 ** 20, 8 * 2 ** 20, "f32"),
    weight("tq1_0", 54, 1024, "f32"),
    weight("q8_0", 34, 34),
    weight("iq2_xxs", 2 ** 20, 4 * 2 ** 20, "f32"),
  ];
  expect(convertedWarnings("some", weights)).toEqual([
    "some: 2 weights of iq2_xxs held as f32, having no kernel of their own: 12.0 MiB in place of 4.00 MiB",
    "some: 1 weight of tq1_0 held as f32, having no kernel of its own: 1.00 KiB in place of 54 bytes",
  ]);
  expect(convertedWarnings("some", [])).toEqual([]);
});
