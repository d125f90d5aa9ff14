import { isWholeGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { guaranteed } from "../../src/device/capabilities.ts";
import { gatherTerms } from "../../src/kernels/attention/attentionScores.ts";
import { flashAttention } from "../../src/kernels/attention/flashAttention.ts";
import { type FlashForm, flashFormOf } from "../../src/kernels/attention/flashForm.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openGuardedDevice } from "../support/openBackend.ts";
import { h200 } from "../wgsl/kernelTexts.ts";
import { type AttentionCase, attentionCall, worstError } from "./attentionCase.ts";

const plain: AttentionCase = { dtype: "f16", sizes: [64, 64], heads: [8, 2], tokens: 200 };

/** Each has what a text treats in its own way. */
const sampled: Readonly<Record<string, AttentionCase>> = {
  "q8_0 with a bias and sinks in a window": { ...plain, dtype: "q8_0", hasSinks: true, reach: 9, params: { window: 100 } },
  "a block that is missing": { ...plain, tokens: 65, hasGap: true },
  "keys of 72 elements, values of 80": { ...plain, sizes: [72, 80], heads: [4, 2], tokens: 65 },
};

const others: Readonly<Record<string, AttentionCase>> = {
  ...Object.fromEntries([1, 2, 8, 9, 64, 65, 200].map((tokens) => [`${tokens} tokens`, { ...plain, tokens }])),
  "a head of queries for each of the cache": { ...plain, heads: [4, 4] },
  "bounded scores with sinks": { ...plain, hasSinks: true, params: { softcap: 0.5 } },
  "slopes to both sides in a window": { ...plain, params: { alibi: 8, window: 100, causal: false } },
  everything: { ...plain, dtype: "f32", hasSinks: true, reach: 3, params: { window: 90, softcap: 2, alibi: 4 } },
  "heads of 256": { ...plain, sizes: [256, 256], heads: [4, 1] },
  "a latent key of 576, a value of 512": { ...plain, sizes: [576, 512], heads: [8, 1], tokens: 65 },
  "a window without causal": { ...plain, params: { window: 100, causal: false } },
  "rows of an odd number of q8_0 blocks": { ...plain, dtype: "q8_0", sizes: [64, 32] },
  "eight heads of queries for each, floats": { ...plain, dtype: "f32", heads: [8, 1] },
  "two heads of queries for each": { ...plain, heads: [8, 4] },
  "an odd number of heads": { ...plain, heads: [6, 2] },
  "a cache of f32": { ...plain, dtype: "f32" },
  "a cache of q8_0": { ...plain, dtype: "q8_0" },
  "blocks of q8_0 across keys and values": { ...plain, dtype: "q8_0", sizes: [72, 56], heads: [3, 3] },
  "a small window": { ...plain, params: { window: 20 } },
  "every key": { ...plain, params: { causal: false } },
  slopes: { ...plain, heads: [6, 6], params: { alibi: 8 } },
  "a bias to both sides": { ...plain, reach: 60, params: { causal: false } },
  "a missing block in a cache of q8_0": { ...plain, dtype: "q8_0", hasGap: true, params: { causal: false } },
  "heads of 80": { ...plain, sizes: [80, 80] },
  "heads of 96": { ...plain, sizes: [96, 96] },
  "heads of 128 in q8_0": { ...plain, dtype: "q8_0", sizes: [128, 128] },
  "keys of 192, values of 128": { ...plain, sizes: [192, 128], heads: [2, 2] },
  "heads of 8": { ...plain, sizes: [8, 8] },
};

const cases = isWholeGrid ? { ...sampled, ...others } : sampled;

await describeOpened("attention by tiles", openGuardedDevice(), ({ device }) => {
  afterAll(() => device.destroy());

  /** The largest error of the form that a device with some limits has. */
  const worst = (given: AttentionCase, limits: typeof guaranteed): Promise<number> => {
    const { call, params } = attentionCall(given);
    const form = flashFormOf(call, given.heads[0] / given.heads[1], limits)!;
    const gathered = given.hasSinks === true && given.reach !== undefined ? [gatherTerms(call, () => true)] : [];
    return worstError(device, given, [...gathered, flashAttention(call, params, form, () => true)]);
  };

  const { maxComputeWorkgroupStorageSize: workgroupBytes } = device.limits;
  test.each(Object.entries(cases))("equals the reference: %s", async (_name, given) => {
    expect(await worst(given, { ...guaranteed, workgroupBytes })).toBeLessThan(1e-5);
  });

  // Fewer values are in memory at once, where a large device has 16.
  test.each(Object.entries(sampled).slice(0, isWholeGrid ? undefined : 1))(
    "equals the reference with the limits of every device: %s",
    async (_name, given) => {
      expect(await worst(given, guaranteed)).toBeLessThan(1e-5);
    },
  );
});

test("devices have tiles for the sizes of keys and values that models have, whatever the type of the cache", () => {
  const sizes = [32, 64, 72, 80, 96, 112, 128, 160, 192, 256].map((size) => [size, size] as const);
  const formOf = (given: AttentionCase, limits: typeof guaranteed): FlashForm | undefined =>
    flashFormOf(attentionCall(given).call, given.heads[0] / given.heads[1], limits);
  for (const [dK, dV] of [...sizes, [192, 128] as const, [576, 512] as const]) {
    for (const dtype of ["f32", "f16", ...((dK + dV) % 32 === 0 ? (["q8_0"] as const) : [])] as const) {
      const given: AttentionCase = { ...plain, dtype, sizes: [dK, dV], tokens: 1 };
      expect(formOf(given, guaranteed), `${dK}, ${dV}`).toMatchObject({ valuesAtOnce: dV > 128 ? 8 : 16 });
      expect(formOf(given, h200), `${dK}, ${dV}`).toMatchObject({ valuesAtOnce: 16 });
    }
  }
  expect(formOf({ ...plain, sizes: [60, 64] }, h200)).toBeUndefined();
});
