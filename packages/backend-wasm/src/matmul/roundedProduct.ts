import { type ActivationRounding, activationBytes, activationLayout, activationName, layoutFor } from "../formats/activations.ts";
import { groupRows } from "../formats/block.ts";
import { type FormatName, formatOf } from "../formats/index.ts";
import { rowBytesOf } from "../formats/interleave.ts";
import type { Call, Exports, Pause } from "../kernel.ts";
import type { Target } from "../target.ts";
import { type Product, sharedUnits } from "./product.ts";

/** Tokens whose activations stay in the cache while rows of weights pass by. */
const tokenBlock = 32;

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
    const calls: Call[] = [];
    for (let token = 0; token < m; token += tokenBlock) {
      const tokens = Math.min(tokenBlock, m - token);
      const chunk = Math.ceil(sharedUnits(k * tokens, n * m * k, threads) / groupRows) * groupRows;
      for (let row = 0; row < n; row += chunk) {
        const [w, to] = [b + row * rowBytes, y + 4 * (token * n + row)];
        const rows = Math.min(chunk, n - row);
        calls.push({ fn: groups, args: [w, scratch + token * tokenBytes, to, rows, k / elements, tokenBytes, 4 * n, tokens] });
      }
    }
    yield calls;
  };
}
