import { type ActivationRounding, activationBytes, activationLayout, activationName, layoutFor } from "../formats/activations.ts";
import { groupRows } from "../formats/block.ts";
import { type FormatName, formatOf } from "../formats/index.ts";
import { rowBytesOf } from "../formats/interleave.ts";
import type { Call, Exports, Pause } from "../kernel.ts";
import type { Target } from "../target.ts";
import { type Product, sharedUnits } from "./product.ts";

/** Bytes of rounded activations, and of weights, that one call multiplies: both fit into a second-level cache of 512 KiB. */
const tokenBlockBytes = 2 ** 18;
const rowChunkBytes = 2 ** 17;

/** Activations that one call rounds. */
const roundedPerCall = 2 ** 15;

/** Bytes of scratch memory for {@link roundedProduct}. */
export function roundedScratch(
  form: FormatName,
  rounding: ActivationRounding,
  target: Target,
): (m: number, n: number, k: number) => number {
  const layout = activationLayout(rounding, layoutFor(formatOf(form), target).lanes);
  return (m, _n, k) => m * activationBytes(layout, k);
}

/** `y = round(a) · bᵀ` for interleaved block weights `b [n, k]`, `a` rounded to the 8-bit blocks that go with their type. */
export function roundedProduct(
  exports: Exports,
  form: FormatName,
  rounding: ActivationRounding,
  target: Target,
  threads: number,
): (product: Product) => Iterable<Pause> {
  const layout = activationLayout(rounding, layoutFor(formatOf(form), target).lanes);
  const [round, groups] = [exports(`round.${activationName(layout)}`), exports(`groups.${form}`)];
  const roundedElements = rounding === "q8_0" ? 32 : 256;
  const { elements } = formatOf(form);
  return function* ({ a, b, y, m, n, k, scratch }) {
    const rounds: Call[] = [];
    for (let at = 0; at < m * k; at += roundedPerCall) {
      const count = Math.min(roundedPerCall, m * k - at);
      rounds.push({ fn: round, args: [a + 4 * at, scratch + activationBytes(layout, at), count / roundedElements] });
    }
    yield rounds;
    const rowBytes = rowBytesOf(form, k);
    const tokenBytes = activationBytes(layout, k);
    // A chunk of weights stays in the cache while blocks of tokens pass by that stay there too.
    const tokensPerCall = Math.max(4, Math.floor(tokenBlockBytes / tokenBytes / 4) * 4);
    const cached = Math.max(1, Math.floor(rowChunkBytes / rowBytes / groupRows)) * groupRows;
    const shared = Math.ceil(sharedUnits(k * Math.min(m, tokensPerCall), n * m * k, threads) / groupRows) * groupRows;
    const chunk = m <= tokensPerCall ? shared : Math.min(cached, shared);
    const calls: Call[] = [];
    for (let row = 0; row < n; row += chunk) {
      const rows = Math.min(chunk, n - row);
      for (let token = 0; token < m; token += tokensPerCall) {
        const [from, to] = [scratch + token * tokenBytes, y + 4 * (token * n + row)];
        const tokens = Math.min(tokensPerCall, m - token);
        calls.push({ fn: groups, args: [b + row * rowBytes, from, to, rows, k / elements, tokenBytes, 4 * n, tokens] });
      }
    }
    yield calls;
  };
}
