import {
  type ActivationLayout,
  type ActivationRounding,
  activationBytes,
  activationLayout,
  activationName,
  lanesFor,
} from "../formats/activations.ts";
import { groupRows } from "../formats/block.ts";
import { type FormatName, formatOf } from "../formats/index.ts";
import { rowBytesOf } from "../formats/interleave.ts";
import type { Call, Exports, Pause } from "../kernel.ts";
import type { Target } from "../target.ts";
import { sharingTokens } from "./groups.ts";
import { type Product, sharedUnits } from "./product.ts";

/** Bytes of rounded activations, and of weights, that one call multiplies: both fit into a second-level cache of 512 KiB. */
const tokenBlockBytes = 2 ** 18;
const rowChunkBytes = 2 ** 17;

/** Activations that one call rounds. */
const roundedPerCall = 2 ** 15;

/** Layouts of activations of tokens that share the weights by fours, and of those that are left over. */
function layoutsOf(form: FormatName, rounding: ActivationRounding, target: Target): readonly [ActivationLayout, ActivationLayout] {
  const lanes = lanesFor(formatOf(form), target);
  return [activationLayout(rounding, lanes, true), activationLayout(rounding, lanes, false)];
}

/** Bytes of scratch memory for {@link roundedProduct}. */
export function roundedScratch(
  form: FormatName,
  rounding: ActivationRounding,
  target: Target,
): (m: number, n: number, k: number) => number {
  const [sharing] = layoutsOf(form, rounding, target);
  return (m, _n, k) => m * activationBytes(sharing, k);
}

/** `y = round(a) · bᵀ` for interleaved block weights `b [n, k]`, `a` rounded to the 8-bit blocks that go with their type. */
export function roundedProduct(
  exports: Exports,
  form: FormatName,
  rounding: ActivationRounding,
  target: Target,
  threads: number,
): (product: Product) => Iterable<Pause> {
  const [sharing, single] = layoutsOf(form, rounding, target).map((layout, index) => ({
    layout,
    round: exports(`round.${activationName(layout)}`),
    multiply: exports(`${index === 0 ? "shared" : "groups"}.${form}`),
  }));
  const roundedElements = rounding === "q8_0" ? 32 : 256;
  const { elements } = formatOf(form);
  return function* ({ a, b, y, m, n, k, scratch }) {
    const inFours = m - (m % sharingTokens);
    const parts = [
      { ...sharing!, first: 0, count: inFours, at: scratch },
      { ...single!, first: inFours, count: m - inFours, at: scratch + inFours * activationBytes(sharing!.layout, k) },
    ];
    const rounds: Call[] = [];
    for (const { layout, round, first, count, at } of parts) {
      for (let done = 0; done < count * k; done += roundedPerCall) {
        const blocks = Math.min(roundedPerCall, count * k - done) / roundedElements;
        rounds.push({ fn: round, args: [a + 4 * (first * k + done), at + activationBytes(layout, done), blocks] });
      }
    }
    yield rounds;
    const rowBytes = rowBytesOf(form, k);
    const calls: Call[] = [];
    for (const { layout, multiply, first, count, at } of parts) {
      const tokenBytes = activationBytes(layout, k);
      // A chunk of weights stays in the cache while blocks of tokens pass by that stay there too.
      const tokensPerCall = Math.max(1, Math.floor(tokenBlockBytes / tokenBytes / sharingTokens)) * sharingTokens;
      const cached = Math.max(1, Math.floor(rowChunkBytes / rowBytes / groupRows)) * groupRows;
      const shared = Math.ceil(sharedUnits(k * Math.min(count, tokensPerCall), n * count * k, threads) / groupRows) * groupRows;
      const chunk = count <= tokensPerCall ? shared : Math.min(cached, shared);
      for (let row = 0; row < n && count > 0; row += chunk) {
        const rows = Math.min(chunk, n - row);
        for (let token = 0; token < count; token += tokensPerCall) {
          const [from, to] = [at + token * tokenBytes, y + 4 * ((first + token) * n + row)];
          const tokens = Math.min(tokensPerCall, count - token);
          calls.push({ fn: multiply, args: [b + row * rowBytes, from, to, rows, k / elements, tokenBytes, 4 * n, tokens] });
        }
      }
    }
    yield calls;
  };
}
