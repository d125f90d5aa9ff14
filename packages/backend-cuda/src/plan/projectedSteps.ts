import { type FusedParams, isFused, type Lowered, type Operand, type Step, type Storage } from "@centella/core/backend";
import { isCacheWrite } from "@centella/gpu-kernels";
import type { Projections } from "../kernels/products/projections.ts";

/** Products and the write to a cache that reads their results, as one step where a variant has launches for both. */
export interface ProjectedStep {
  readonly projections: Projections;
  /** Has the inputs of both, the results of the products as extra outputs, and then those of the write. */
  readonly step: Step;
  /** Each alone. */
  readonly products: Step;
  readonly write: Step;
}

/**
 * Pairs of neighbouring steps, by the index of the first: a group of products, and a write to a cache that alone reads what it takes from
 * them.
 */
export function projectedSteps({ steps }: Pick<Lowered, "steps">): ReadonlyMap<number, ProjectedStep> {
  const found = new Map<number, ProjectedStep>();
  steps.forEach((products, index) => {
    const write = steps[index + 1];
    if (write === undefined || !isFused(products.op) || !isFused(write.op) || !isCacheWrite(write.params as FusedParams)) return;
    const results = [...(products.extraOutputs ?? []), products.output];
    const numbers = new Map<Storage, number>(results.map(({ storage }, number) => [storage, number]));
    const sources = write.inputs.map((operand) => operand && numbers.get(operand.storage));
    const isOwn = (operand: Operand | undefined): boolean => operand?.storage.last === index + 1;
    if (sources.every((source) => source === undefined) || !write.inputs.every((operand, i) => sources[i] === undefined || isOwn(operand)))
      return;
    found.set(index, {
      projections: {
        products: {
          params: products.params as FusedParams,
          inputs: products.inputs.length,
          output: products.output.spec,
          extraOutputs: results.length - 1,
        },
        write: { params: write.params as FusedParams, sources },
      },
      step: {
        ...write,
        inputs: [...products.inputs, ...write.inputs],
        extraOutputs: [...results, ...(write.extraOutputs ?? [])],
      },
      products,
      write,
    });
  });
  return found;
}

/** The storages with the lives that they have if each write runs with its products: its results are stored while these still read. */
export function withProjectedLives(storages: readonly Storage[], projected: ReadonlyMap<number, ProjectedStep>): readonly Storage[] {
  const starts = new Map<Storage, number>();
  for (const [index, { write }] of projected)
    for (const { storage } of [...(write.extraOutputs ?? []), write.output]) if (storage.first > index) starts.set(storage, index);
  return storages.map((storage) => {
    const first = starts.get(storage);
    return first === undefined ? storage : { ...storage, first };
  });
}
