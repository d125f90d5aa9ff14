import { type DimValues, UnsupportedError } from "@centella/core";
import { callKey, type FusedParams, isFused, LruCache, type Step } from "@centella/core/backend";
import { kernelTable } from "../kernels/index.ts";
import type { Gpu } from "../kernels/shared/gpu.ts";
import { type Launch, symbolicDims } from "../kernels/shared/kernel.ts";
import type { UnitMatrix } from "../weights/unitFormat.ts";

/** Number of calls whose launches are kept: some 30 different calls of a model at as many buckets as a plan has variants. */
const maxCalls = 2048;

/** Identifies the call that a step makes. */
interface CallKey {
  /** Equal for calls that have the same launches at the same extents. */
  readonly number: number;
  /** Names of the symbolic dims that the launches depend on. */
  readonly dims: readonly string[];
}

/** What kernels are generated for. */
export interface LaunchTarget {
  readonly gpu: Gpu;
  /** The form of a persistent that is a weight in units. */
  unitsOf(persistent: string): UnitMatrix | undefined;
}

/** The launches of a program's steps. They are generated once per call and bucket, because the layers of a model repeat few calls. */
export class LaunchCache {
  readonly #slots: ReadonlyMap<string, number>;
  readonly #target: LaunchTarget;
  readonly #keys = new WeakMap<Step, CallKey>();
  readonly #launches = new LruCache<readonly Launch[]>(maxCalls);
  /** Number of each different call, by its structure. */
  readonly #numbers = new Map<string, number>();

  /** `slots`: place of each symbolic dim's value in the buffer of dims, by name. */
  constructor(slots: ReadonlyMap<string, number>, target: LaunchTarget) {
    this.#slots = slots;
    this.#target = target;
  }

  /** The launches of a step at the buckets of the program's dims. An extent of 0 has those of 1. @throws {UnsupportedError} */
  launchesOf(step: Step, buckets: DimValues): readonly Launch[] {
    const { number, dims } = this.#keyOf(step);
    const bucket = Object.fromEntries(dims.map((name) => [name, Math.max(1, buckets[name] ?? 0)]));
    const key = `${number} ${Object.values(bucket).join()}`;
    const found = this.#launches.get(key);
    if (found !== undefined) return found;
    const { op, inputs, params, output } = step;
    const kernel = kernelTable.kernelOf(op);
    if (kernel === undefined) throw new UnsupportedError(`cuda: ${op.name}`, "there is no kernel");
    const specs = inputs.map((operand) => operand?.spec);
    const units = this.#unitsOf(step);
    const call = { inputs: specs, output: output.spec, slots: this.#slots, bucket, gpu: this.#target.gpu };
    const launches = kernel.launches({ ...call, unitsOf: (index) => units[index] }, params);
    this.#launches.set(key, launches);
    return launches;
  }

  /** The inputs that are weights in units. */
  #unitsOf({ inputs }: Step): readonly (UnitMatrix | undefined)[] {
    return inputs.map((operand) => {
      const definition = operand?.storage.definition;
      return definition?.kind === "persistent" ? this.#target.unitsOf(definition.name) : undefined;
    });
  }

  #keyOf(step: Step): CallKey {
    const known = this.#keys.get(step);
    if (known !== undefined) return known;
    const { op, params, inputs, output } = step;
    const body = isFused(op) ? (params as FusedParams).body : [];
    const specs = [...inputs.map((operand) => operand?.spec), output.spec];
    const key = `${this.#unitsOf(step).map((units) => (units === undefined ? "" : "units"))} ${callKey(step)}`;
    const number = this.#numbers.get(key) ?? this.#numbers.size;
    this.#numbers.set(key, number);
    const found = { number, dims: symbolicDims([...specs, ...body.map((inner) => inner.output)]) };
    this.#keys.set(step, found);
    return found;
  }
}
