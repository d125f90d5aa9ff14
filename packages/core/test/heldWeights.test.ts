import { expect, test } from "vitest";
import { heldWeightsWarnings } from "../src/backend/heldWeights.ts";

test("weights in another form: one warning a type, with what it costs", () => {
  const weights = [
    { dtype: "iq2_xxs", storedBytes: 3 * 2 ** 20, heldBytes: 8 * 2 ** 20 },
    { dtype: "tq1_0", storedBytes: 54, heldBytes: 1024 },
    { dtype: "iq2_xxs", storedBytes: 2 ** 20, heldBytes: 4 * 2 ** 20 },
  ] as const;
  expect(heldWeightsWarnings("some", "f32", weights)).toEqual([
    "some: 2 weights of iq2_xxs held as f32, having no kernel of their own: 12.0 MiB in place of 4.0 MiB",
    "some: 1 weight of tq1_0 held as f32, having no kernel of its own: 1024 bytes in place of 54 bytes",
  ]);
  expect(heldWeightsWarnings("some", "f32", [])).toEqual([]);
});
