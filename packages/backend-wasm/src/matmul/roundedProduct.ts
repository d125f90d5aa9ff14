import {
  type ActivationLayout,
  type ActivationRounding,
  activationLayout,
  activationName,
  lanesFor,
  tileBytes,
} from "../blockProducts/activations.ts";
import { dotFormat } from "../blockProducts/dotFormat.ts";
import { groupScratchBytes } from "../blockProducts/groupEmission.ts";
import { groupRows } from "../formats/block.ts";
import { type FormatName, formatOf } from "../formats/index.ts";
import { rowBytesOf } from "../formats/interleave.ts";
import type { BuildContext, Call, Emitted, Stage } from "../kernel.ts";
import type { Target } from "../target.ts";
import { type Product, sharedUnits } from "./product.ts";

/**
 * Bytes of rounded activations, and of weights, per call. Both fit into the second-level cache of servers. With smaller
 * caches, tokens still arrive from the next level faster than they are multiplied.
 */
const tokenBlockBytes = 2 ** 19;
const rowChunkBytes = 2 ** 17;

/**
 * Tokens from which weights are unpacked first and multiplied with pairs of tokens. Where products of bytes are added in
 * pairs, 8 tokens are 7 to 16 % faster in tiles of four, and 12 are as fast in both ways.
 */
function pairedTokens({ dots }: Target): number {
  return dots === "pairs" ? 12 : 8;
}

/** Activations that one call rounds. */
const roundedPerCall = 2 ** 12;

/** Bytes of scratch memory for {@link roundedProduct}. */
export function roundedScratch(
  form: FormatName,
  rounding: ActivationRounding,
  target: Target,
  maxThreads: number,
): (m: number, n: number, k: number) => number {
  // A single token takes as many bytes.
  const layout = activationLayout(rounding, lanesFor(dotFormat(formatOf(form), target), target, 2));
  return (m, _n, k) => maxThreads * groupScratchBytes + tileBytes(layout, k, m);
}

/** Calls have a multiple of this many rows, except the last one. */
const stepRows = 2 * groupRows;

/** A function that multiplies tiles of `size` tokens. */
interface TileSize {
  readonly size: number;
  readonly multiply: Emitted;
}

/** Tokens that one function processes: `tiles` tiles of `size` from token `first` on, rounded to address `at`. */
interface Part extends TileSize {
  readonly first: number;
  readonly tiles: number;
  readonly at: number;
  readonly bytesPerTile: number;
}

/** The functions of a format, for products with rounded activations. */
interface RoundedFunctions {
  readonly form: FormatName;
  /** Layouts of a single token's activations, and of those of several tokens. */
  readonly single: ActivationLayout;
  readonly several: ActivationLayout;
  readonly roundSingle: Emitted;
  readonly roundTiles: Emitted;
  /** Elements per rounded block. */
  readonly roundedElements: number;
}

/** `y = round(a) · bᵀ` for interleaved block weights `b [n, k]`, with `a` rounded to the 8-bit blocks of their type. */
export function roundedProduct(
  { exports, onDemand, target, threads, maxThreads }: Pick<BuildContext, "exports" | "onDemand" | "target" | "threads" | "maxThreads">,
  form: FormatName,
  rounding: ActivationRounding,
): (product: Product) => Iterable<Stage> {
  const format = dotFormat(formatOf(form), target);
  const layoutFor = (tokens: number): ActivationLayout => activationLayout(rounding, lanesFor(format, target, tokens));
  const [single, several] = [layoutFor(1), layoutFor(2)];
  const roundSingle = exports(`round.${activationName(single)}`);
  const roundTiles = exports(`roundTiles.${activationName(several)}`);
  // Every text that is generated needs those of single tokens, and a prompt at most two others.
  const tilesOf = (size: number, request = onDemand): TileSize => ({ size, multiply: request(`groups${size}.${form}`) });
  const [one, two, three, four] = [tilesOf(1, exports), tilesOf(2), tilesOf(3), tilesOf(4)];
  const pairs = { size: 2, multiply: onDemand(`pairs.${form}`) };
  const functions = { form, single, several, roundSingle, roundTiles, roundedElements: rounding === "q8_0" ? 32 : 256 };
  return function* (product) {
    const { m, k, scratch } = product;
    const [main, left] = m < pairedTokens(target) ? [four, m % 4] : [pairs, 3 * (m % 2)];
    const parts: Part[] = [];
    let [first, at] = [0, scratch + maxThreads * groupScratchBytes];
    for (const { size, multiply, tiles } of [
      { ...main, tiles: (m - left) / main.size },
      ...[one, two, three].slice(left - 1, left).map((tile) => ({ ...tile, tiles: 1 })),
    ]) {
      const bytesPerTile = tileBytes(several, k, size);
      if (tiles > 0) parts.push({ size, multiply, first, tiles, at, bytesPerTile });
      first += tiles * size;
      at += tiles * bytesPerTile;
    }
    yield parts.flatMap((part) => roundPart(functions, part, product));
    yield parts.flatMap((part) => multiplyPart(functions, part, product, threads));
  };
}

function roundPart(
  { single, roundSingle, roundTiles, roundedElements }: RoundedFunctions,
  { size, first, tiles, at, bytesPerTile }: Part,
  { a, k }: Product,
): readonly Call[] {
  const blocks = k / roundedElements;
  if (size === 1) {
    return steps(blocks, roundedPerCall / roundedElements).map(([block, count]) => {
      const element = roundedElements * block;
      return { fn: roundSingle, args: [a + 4 * (first * k + element), at + tileBytes(single, element, 1), count] };
    });
  }
  return steps(tiles, Math.max(1, Math.floor(roundedPerCall / (size * k)))).map(([tile, count]) => {
    const token = first + size * tile;
    return { fn: roundTiles, args: [a + 4 * token * k, at + tile * bytesPerTile, blocks, size, count] };
  });
}

function multiplyPart(
  { form }: RoundedFunctions,
  { size, multiply, first, tiles, at, bytesPerTile }: Part,
  { b, y, n, k, scratch }: Product,
  threads: number,
): readonly Call[] {
  const rowBytes = rowBytesOf(form, k);
  // A chunk of weights stays in the cache while blocks of tokens, which also fit, pass by.
  const tilesPerCall = Math.max(1, Math.floor(tokenBlockBytes / bytesPerTile));
  const cached = Math.max(1, Math.floor(rowChunkBytes / rowBytes / stepRows)) * stepRows;
  const work = size * k * Math.min(tiles, tilesPerCall);
  const shared = Math.ceil(sharedUnits(work, n * size * tiles * k, threads) / stepRows) * stepRows;
  const chunk = tiles <= tilesPerCall ? shared : Math.min(cached, shared);
  return steps(n, chunk).flatMap(([row, rows]) =>
    steps(tiles, tilesPerCall).map(([tile, count]): Call => {
      const to = y + 4 * ((first + size * tile) * n + row);
      const args = [b + row * rowBytes, at + tile * bytesPerTile, to, rows, k / formatOf(form).elements];
      return { fn: multiply, args: size === 1 ? args : [...args, 4 * n, scratch, count] };
    }),
  );
}

/** Splits `total` into pieces of at most `step`. */
function steps(total: number, step: number): readonly (readonly [at: number, count: number])[] {
  return Array.from({ length: Math.ceil(total / step) }, (_, i) => [i * step, Math.min(step, total - i * step)]);
}
