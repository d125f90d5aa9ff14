import type { DType } from "@centella/core";
import { elementAt, isQuantized } from "@centella/core/backend";
import { loadUnits, unitsAtOnce, unitWeights } from "@centella/gpu-kernels";
import { type ActivationType, activationType, type BlockType } from "@centella/quant";
import type { WgslEmitter } from "../../wgsl/emitter.ts";
import { quadIndex } from "./roundedUnits.ts";
import type { RowForm } from "./rowForm.ts";
import { range } from "./shape.ts";
import { blocksOf, stepVectors, type WeightVectors, weightsAtOnce } from "./weights.ts";

/** A product of rows `[m, k]` with the rows of a weight `[n, k]`. */
export interface RowProduct {
  /** Name of the binding of the rows, an array of vec4f; of vec4u with their units if the product is packed. */
  readonly a: string;
  /** Name of the binding of the weight, an array of `rowElement`. */
  readonly b: string;
  readonly dtype: DType;
  /** Whether packed integers are multiplied. */
  readonly isPacked: boolean;
}

/** Expressions of what products read of the rows that they multiply, by the name of the product's binding. */
export interface RowReader {
  /** Four elements, from `4 * index` on. */
  quadAt(name: string, index: string): string;
  /** Quad `quad` of a unit of a row that is rounded to `type`: see {@link quadsPerUnit}. */
  unitQuadAt(type: ActivationType, name: string, row: string, unit: string, quad: number): string;
}

/** Reads rows of `depth` elements from memory. */
export function storedReader(depth: number): RowReader {
  const units = `${depth / unitWeights}u`;
  return {
    quadAt: (name, index) => `${name}[${index}]`,
    unitQuadAt: (type, name, row, unit, quad) => `${name}[${quadIndex(type, row, units, unit, quad)}]`,
  };
}

/** What loops take of a {@link RowForm}. */
type LoopForm = Pick<RowForm, "lanesPerColumn" | "columnsPerLane" | "ahead" | "depth" | "rows">;

/**
 * Adds the lane's part of the products' sums over the depth: to `sum<product>_<i>`, where `i` counts the columns of the lane by rows. Reads
 * `sub`, the lane's number in its column, `column<c>` and `row<t>`.
 */
export function dotLoops(k: WgslEmitter, products: readonly RowProduct[], form: LoopForm, reader: RowReader): void {
  for (const loop of loopsOf(products, form)) {
    const { steps, stride } = extentOf(loop, form);
    const places = range(stride / form.lanesPerColumn).map((i) => (i === 0 ? "u" : `(u + ${i * form.lanesPerColumn}u)`));
    k.lines.push(`for (var u = sub; u < ${steps}u; u += ${stride}u) {`);
    k.lines.push(...(loop.isPacked ? packedSteps : exactSteps)(k, loop, form, reader, places), "}");
  }
}

/** Products that read the same rows in the same steps. */
interface Loop {
  /** Name of the binding of the rows. */
  readonly a: string;
  readonly isPacked: boolean;
  /** Weights of each product that a lane reads in a step. */
  readonly weights: number;
  readonly products: (RowProduct & { readonly j: number })[];
}

function loopsOf(products: readonly RowProduct[], { rows }: LoopForm): readonly Loop[] {
  const loops = new Map<string, Loop>();
  products.forEach((product, j) => {
    const { a, dtype, isPacked } = product;
    // Floats of two units take the registers of several rows.
    const units = isQuantized(dtype) && (isPacked || rows === 1) ? unitsAtOnce(dtype) : 1;
    const weights = isQuantized(dtype) ? unitWeights * units : (weightsAtOnce(dtype) ?? 0);
    // Types differ in the units that a lane reads at once.
    const key = isPacked || units > 1 ? `${a} ${dtype}` : `${a} ${weights}`;
    const loop = loops.get(key) ?? { a, isPacked, weights, products: [] };
    loop.products.push({ ...product, j });
    loops.set(key, loop);
  });
  return [...loops.values()];
}

/** The steps of a loop, and how many of them the lanes of a column take at once. */
function extentOf({ weights }: Loop, { depth, lanesPerColumn, ahead }: LoopForm): { readonly steps: number; readonly stride: number } {
  const steps = depth / weights;
  return { steps, stride: (steps % (ahead * lanesPerColumn) === 0 ? ahead : 1) * lanesPerColumn };
}

/** Reads the weights of steps, and returns statements that multiply codes with codes, by packed dot products, and scale their sums. */
function packedSteps(
  k: WgslEmitter,
  { a, weights, products }: Loop,
  { columnsPerLane, depth, rows }: LoopForm,
  reader: RowReader,
  places: readonly string[],
): readonly string[] {
  const type = codesOf(elementAt(products, 0).dtype);
  return places
    .map((place) =>
      products.flatMap(({ j, b, dtype }) =>
        range(columnsPerLane).map((c) => {
          const first = k.define("u32", `column${c} * ${depth / weights}u`);
          return {
            j,
            c,
            units: loadUnits(k, codesOf(dtype), blocksOf(k, b), { first, step: k.define("u32", place) }),
          };
        }),
      ),
    )
    .flatMap((loaded) =>
      elementAt(loaded, 0).units.flatMap(({ index }, i) =>
        range(rows).flatMap((t) => [
          "{",
          ...unitText((quad) => reader.unitQuadAt(activationType[type], a, `row${t}`, index, quad)),
          ...loaded.flatMap(({ j, c, units }) => {
            const { words, scales, offsets = [] } = elementAt(units, i);
            return unitDots(`sum${j}_${c * rows + t}`, words, scales, offsets);
          }),
          "}",
        ]),
      ),
    );
}

function codesOf(dtype: DType): BlockType {
  if (!isQuantized(dtype)) throw new TypeError(`expected blocks of codes, got ${dtype}; this is a bug`);
  return dtype;
}

/** Reads a unit of a row: its codes `x0` and `x1`, and `x`, its step and sums. */
function unitText(quad: (i: number) => string): readonly string[] {
  return [`let x0 = ${quad(0)};`, `let x1 = ${quad(1)};`, `let x = bitcast<vec4f>(${quad(2)});`];
}

/** Adds the product of a unit of weights with the unit `x0`, `x1`, `x` to `sum`. */
export function unitDots(sum: string, words: readonly string[], scales: readonly string[], offsets: readonly string[]): readonly string[] {
  const perScale = words.length / scales.length;
  const dots = scales.map((scale, s) => {
    const codes = words.slice(s * perScale, (s + 1) * perScale).map((word, i) => {
      const at = s * perScale + i;
      return `dot4I8Packed(${word}, x${at >> 2}.${"xyzw"[at & 3]})`;
    });
    return `${scale} * f32(${codes.join(" + ")})`;
  });
  const sums = offsets.length === 1 ? ["w"] : ["y", "z"];
  const shifted = offsets.map((offset, i) => ` + ${offset} * x.${sums[i]}`);
  return [`${sum} += x.x * (${dots.join(" + ")})${shifted.join("")};`];
}

/** Reads the weights of steps, and returns statements that multiply them as floats. */
function exactSteps(
  k: WgslEmitter,
  { a, weights, products }: Loop,
  { columnsPerLane, depth, rows }: LoopForm,
  { quadAt }: RowReader,
  places: readonly string[],
): readonly string[] {
  const loaded = places.map((place) =>
    products.flatMap(({ j, b, dtype }) =>
      range(columnsPerLane).map((c) => {
        const step = { row: `column${c}`, steps: depth / weights, step: place };
        return { j, c, parts: stepVectors(k, b, dtype, weights, step) };
      }),
    ),
  );
  return loaded.flatMap((columns) =>
    elementAt(columns, 0).parts.flatMap(({ first, vectors }, i) => {
      const own = columns.map(({ j, c, parts }) => ({ j, c, ...elementAt(parts, i) }));
      return exactPart(own, rows, (t, quad) => quadAt(a, `row${t} * ${depth / 4}u + ${first} + ${quad}u`), vectors.length);
    }),
  );
}

/** Weights of product `j` and column `c` of the lane. */
interface LoadedWeights extends WeightVectors {
  readonly j: number;
  readonly c: number;
}

/** Multiplies a part of the weights of a step with its quads of each row, of which there are `quads`. */
function exactPart(
  loaded: readonly LoadedWeights[],
  rows: number,
  quadAt: (row: number, quad: number) => string,
  quads: number,
): readonly string[] {
  const needsTotals = loaded.some(({ offsets }) => offsets.length > 0);
  const parts = Math.max(...loaded.map(({ scales }) => scales.length), 1);
  const perPart = quads / parts;
  const names = (t: number): readonly string[] => range(perPart).map((i) => `x${t}_${i}`);
  const partText = (part: number): readonly string[] => {
    const reads = range(rows).flatMap((t) => [
      ...names(t).map((name, i) => `let ${name} = ${quadAt(t, part * perPart + i)};`),
      ...(needsTotals ? [`let total${t} = dot(${names(t).join(" + ")}, vec4f(1));`] : []),
    ]);
    const sums = loaded.flatMap(({ j, c, vectors, scales, offsets }) => {
      const own = vectors.slice(part * perPart, (part + 1) * perPart);
      const scale = scales[scales.length === 1 ? 0 : part];
      const offset = offsets[offsets.length === 1 ? 0 : part];
      return range(rows).map((t) => {
        const dots = rows === 1 && scale !== undefined ? chainText(own) : own.map((vector, i) => `dot(${vector}, x${t}_${i})`).join(" + ");
        const scaled = scale === undefined ? dots : `${scale} * (${dots})`;
        return `sum${j}_${c * rows + t} += ${scaled}${offset === undefined ? "" : ` + ${offset} * total${t}`};`;
      });
    });
    return ["{", ...reads, ...sums, "}"];
  };
  return range(parts).flatMap(partText);
}

/** The product of vectors with those of the only row. Sums of four places are added up in the end, which takes the fewest additions. */
function chainText([first = "vec4f()", ...vectors]: readonly string[]): string {
  return `dot(${vectors.reduce((sum, vector, i) => `fma(${vector}, x0_${i + 1}, ${sum})`, `${first} * x0_0`)}, vec4f(1))`;
}
