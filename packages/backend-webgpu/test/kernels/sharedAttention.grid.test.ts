import { contentsOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType, reference } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { type Capabilities, guaranteed } from "../../src/device/capabilities.ts";
import { sharedFormOf } from "../../src/kernels/attention/sharedForm.ts";
import { attentionFor } from "../../src/kernels/attention.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend } from "../support/openBackend.ts";
import { h200 } from "../wgsl/kernelTexts.ts";
import { type AttentionCase, attentionCall, worstError } from "./attentionCase.ts";
import { exchangeBytes, withoutSubgroups } from "./emulatedSubgroups.ts";

/** Two sequences of 150 and 70 positions in blocks of 16, and their tokens in turn, so that neighbours differ in sequence. */
const [slots, size, heads, kvHeads, blockSize, blocks] = [512, 32, 8, 2, 16, 12];
const lengths = Int32Array.of(150, 70);
const table = Int32Array.from({ length: 2 * blocks }, (_, i) => (i * 7) % (slots / blockSize));

/** What is added to scores besides products; the bias has 11 distances. */
interface Terms {
  readonly hasSinks?: boolean;
  readonly hasBias?: boolean;
}

async function results(backend: Backend, dtype: DType, options: object, terms: Terms, tokens: readonly number[]) {
  const program = createProgram();
  const T = program.dim("T", Math.max(...tokens));
  const q = program.input("q", "f32", [T, heads, size]);
  const integers = (name: string, shape: readonly (number | typeof T)[]) => program.input(name, "i32", shape);
  const spec = { dtype, shape: [slots, kvHeads, 2 * size] };
  const cache = program.constant(contentsOf(spec, 5).stored, dtype, spec.shape);
  const lists = [integers("positions", [T]), integers("seqOf", [T]), integers("table", [2, blocks]), integers("lengths", [2])] as const;
  const { hasSinks = false, hasBias = false } = terms;
  const optional = {
    ...(hasSinks && { sinks: program.input("sinks", "f32", [heads]) }),
    ...(hasBias && { bias: program.input("bias", "f32", [heads, 11]) }),
  };
  program.output("y", program.attention(q, cache, ...lists, { scale: 0.2, blockSize, ...options, ...optional }));
  const plan = await backend.compile(program);
  const found = [];
  for (const count of tokens) {
    const seqOf = Int32Array.from({ length: count }, (_, t) => (t % 5 < 3 ? 0 : 1));
    const inputs = {
      ...{ q: uniform(count, count * heads * size), seqOf, table, lengths },
      positions: seqOf.map((s, t) => lengths[s]! - 1 - (t % 64)),
      ...(hasSinks && { sinks: Float32Array.of(0.5, -1, 2, 0, 1, 1, -2, 0) }),
      ...(hasBias && { bias: uniform(9, heads * 11) }),
    };
    found.push(await plan.run(inputs).y!.data());
  }
  plan.dispose();
  return found;
}

await describeOpened("attention with lanes that share positions", openBackend(), ({ backend }) => {
  afterAll(() => backend.dispose());

  const all = isWholeGrid ? [1, 3, 131, 520] : [1, 3, 520];
  const forms: readonly (readonly [string, DType, object, Terms, readonly number[]])[] = [
    ["of halves", "f16", {}, {}, all],
    ["of blocks, with sinks and a bias", "q8_0", {}, { hasSinks: true, hasBias: true }, all],
    ["of floats in a window, with sinks", "f32", { window: 40 }, { hasSinks: true }, all],
    ["with bounded scores and slopes", "f16", { softcap: 3, alibi: 8 }, {}, [1, 3, 520]],
    ["with slopes to both sides", "f16", { causal: false, alibi: 8 }, {}, [520]],
    ["with a bias to both sides in a window", "f16", { causal: false, window: 40 }, { hasBias: true }, all],
  ];
  test.each(isWholeGrid ? forms : forms.slice(0, 2))("equals the reference: %s", async (_name, dtype, options, terms, tokens) => {
    const [got, want] = await Promise.all([backend, await reference().open()].map((each) => results(each, dtype, options, terms, tokens)));
    for (const [i, rows] of want!.entries()) {
      const worst = Array.from(rows, (value, at) => Math.abs(value - got![i]![at]!)).reduce((x, y) => Math.max(x, y));
      expect(worst, `${tokens[i]} tokens`).toBeLessThan(1e-5);
    }
  });
});

const plain: AttentionCase = { dtype: "f16", sizes: [64, 64], heads: [4, 1], tokens: 1 };

const latent: AttentionCase = { ...plain, sizes: [576, 512], heads: [16, 1] };

const sampled: Readonly<Record<string, AttentionCase>> = {
  "heads of 80 in a window with sinks": { ...plain, sizes: [80, 80], tokens: 3, hasSinks: true, params: { window: 100 } },
  "a latent key of 576, a value of 512": latent,
};

const others: Readonly<Record<string, AttentionCase>> = {
  "heads of 80, each with its own keys": { ...plain, sizes: [80, 80], heads: [3, 3], tokens: 3 },
  "heads of 96 in q8_0 with a bias and sinks": { ...plain, dtype: "q8_0", sizes: [96, 96], tokens: 3, hasSinks: true, reach: 9 },
  "keys of 192, values of 128, bounded scores": { ...plain, dtype: "f32", sizes: [192, 128], heads: [8, 2], params: { softcap: 0.5 } },
  "keys of 192, values of 128, many tokens": { ...plain, sizes: [192, 128], heads: [2, 2], tokens: 131 },
  "values longer than keys, slopes": { ...plain, sizes: [40, 136], heads: [6, 2], tokens: 3, params: { alibi: 8 } },
  "heads of 96, many tokens, a block that is missing": { ...plain, sizes: [96, 96], heads: [8, 2], tokens: 131, hasGap: true },
  "a latent key in q8_0 and everything": {
    ...{ ...latent, dtype: "q8_0", heads: [4, 1], tokens: 2, hasSinks: true, reach: 3 },
    params: { window: 90, softcap: 2, alibi: 4 },
  },
};

const pairs = [
  [32, 32],
  [64, 64],
  [72, 72],
  [80, 80],
  [96, 96],
  [128, 128],
  [256, 256],
  [192, 128],
  [576, 512],
] as const;

const allCases = (): Readonly<Record<string, AttentionCase>> => ({
  ...sampled,
  ...others,
  "a latent key of many heads, many tokens": { ...latent, heads: [128, 1], tokens: 8 },
  ...Object.fromEntries(
    pairs.flatMap((sizes) =>
      [1, 4, 16].flatMap((perKvHead) =>
        (["f32", "f16", "q8_0"] as const)
          .filter((dtype) => dtype !== "q8_0" || (sizes[0] + sizes[1]) % 32 === 0)
          .map((dtype) => [
            `${sizes.join(", ")} in ${dtype}, ${perKvHead} heads`,
            { ...plain, dtype, sizes, heads: [perKvHead, 1], tokens: 2 },
          ]),
      ),
    ),
  ),
});

/** Lanes of the software device's subgroups, and elements of the longest value of which they hold several rows. */
const ownSubgroup = 4;
const mostOfFour = 256;

const cases = isWholeGrid ? allCases() : sampled;

await describeOpened("attention with lanes that share positions, for any size", openBackend(), (opened) => {
  afterAll(() => opened.backend.dispose());

  /** Capabilities with subgroups of a size, the software device's own or emulated ones. */
  const ofSubgroups = (size: number): Capabilities => {
    const { maxComputeWorkgroupStorageSize } = opened.device.limits;
    const workgroupBytes = maxComputeWorkgroupStorageSize - (size > ownSubgroup ? exchangeBytes : 0);
    return { ...guaranteed, workgroupBytes, subgroups: { min: size, max: size } };
  };

  test.each(Object.entries(cases))("equals the reference with subgroups of several sizes: %s", async (_name, given) => {
    const { call, params } = attentionCall(given);
    for (const size of given.sizes[1] > mostOfFour ? [16, 32] : [ownSubgroup, 32]) {
      const dispatches = attentionFor(ofSubgroups(size)).dispatches(call, params);
      expect(dispatches.some(({ code }) => code.includes("subgroupShuffleXor"))).toBe(true);
      const run = size > ownSubgroup ? dispatches.map(withoutSubgroups) : dispatches;
      expect(await worstError(opened.device, given, run), `subgroups of ${size}`).toBeLessThan(1e-5);
    }
  });
});

/** The form for f16, and some of its figures. */
function formOf(sizes: AttentionCase["sizes"], perKvHead: number, capabilities: Capabilities) {
  const { call } = attentionCall({ ...plain, sizes, heads: [perKvHead, 1] });
  return sharedFormOf(call, perKvHead, capabilities);
}

test("query heads share keys whatever the sizes that models have", () => {
  for (const min of [8, 16, 32, 64]) {
    const capabilities = { ...guaranteed, workgroupBytes: 2 ** 15, subgroups: { min, max: 128 } };
    for (const sizes of pairs) {
      for (const perKvHead of [2, 3, 4]) {
        const heads = sizes[1] > mostOfFour && min === 8 ? 2 : perKvHead;
        if (perKvHead % heads === 0) expect(formOf(sizes, perKvHead, capabilities), `${sizes}, ${min} lanes`).toMatchObject({ heads });
      }
    }
  }
});

test("lanes of a position keep queries, or share them in memory where keys are long", () => {
  expect(formOf([80, 80], 4, h200)).toMatchObject({ perPosition: 16, keepsQueries: true, heads: 4, mostRows: 8 });
  expect(formOf([80, 80], 1, h200)).toMatchObject({ perPosition: 4, keepsQueries: true, heads: 1, mostRows: 2 });
  expect(formOf([192, 128], 4, h200)).toMatchObject({ perPosition: 16, keepsQueries: true, heads: 4, mostRows: 5 });
  expect(formOf([576, 512], 128, h200)).toMatchObject({ perPosition: 32, keepsQueries: false, heads: 4, mostRows: 8 });
  // The limits of every device: 16 KiB have fewer queries.
  expect(formOf([576, 512], 128, { ...guaranteed, subgroups: { min: 32, max: 32 } })).toMatchObject({ heads: 2, mostRows: 2 });
});

test("lanes do not share positions of small keys, of sizes that are no multiples of 8, nor where no queries could share keys", () => {
  expect(formOf([24, 24], 4, h200)).toBeUndefined();
  expect(formOf([60, 64], 4, h200)).toBeUndefined();
  expect(formOf([64, 64], 4, guaranteed)).toBeUndefined();
  expect(formOf([576, 512], 16, { ...guaranteed, subgroups: { min: 4, max: 4 } })).toBeUndefined();
});
