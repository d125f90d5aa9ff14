import { type DimValues, type TensorSpec, UnsupportedError } from "@centella/core";
import { callKey, type FusedParams, isFused, LruCache, type Step, type Storage } from "@centella/core/backend";
import type { ProjectedStep } from "@centella/gpu-kernels";
import { kernelTable } from "../kernels/index.ts";
import { projectionLaunches } from "../kernels/products/projections.ts";
import type { Gpu } from "../kernels/shared/gpu.ts";
import { type KernelCall, type Launch, symbolicDims } from "../kernels/shared/kernel.ts";
import { tensorCopy } from "../kernels/shared/tensorCopy.ts";
import type { CallTexts, KernelText } from "../kernels/shared/texts.ts";
import type { UnitMatrix } from "../weights/unitFormat.ts";

/** Number of calls whose launches are kept: some 30 different calls of a model at as many buckets as a plan has variants. */
const maxCalls = 2048;

/** Number of texts that are kept: the calls of a model have some 10 each at all buckets. */
const maxTexts = 512;

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

/**
 * The launches of a program's steps. They are generated once per call and bucket, because the layers of a model repeat few calls. Most texts of
 * a call are the same at several buckets, and are written once.
 */
export class LaunchCache {
  readonly #slots: ReadonlyMap<string, number>;
  readonly #target: LaunchTarget;
  readonly #written: ReadonlySet<Storage>;
  readonly #keys = new WeakMap<Step, CallKey>();
  readonly #launches = new LruCache<readonly Launch[]>(maxCalls);
  readonly #texts = new LruCache<KernelText>(maxTexts);
  /** Number of each different call, by its structure. */
  readonly #numbers = new Map<string, number>();

  /** `slots`: place of each symbolic dim's value in the buffer of dims, by name. `written`: what steps write. */
  constructor(slots: ReadonlyMap<string, number>, target: LaunchTarget, written: ReadonlySet<Storage>) {
    this.#slots = slots;
    this.#target = target;
    this.#written = written;
  }

  /** The launches of a step at the buckets of the program's dims. An extent of 0 has those of 1. @throws {UnsupportedError} */
  launchesOf(step: Step, buckets: DimValues): readonly Launch[] {
    const { op, params } = step;
    const kernel = kernelTable.kernelOf(op);
    if (kernel === undefined) throw new UnsupportedError(`cuda: ${op.name}`, "there is no kernel");
    return this.#kept([step], "", buckets, (bucket, texts) => kernel.launches(this.#callOf(step, bucket, texts), params));
  }

  /** The launches of products with the write of their results; undefined where each has launches of its own. */
  projectionsOf({ step, products, write, projections }: ProjectedStep, buckets: DimValues): readonly Launch[] | undefined {
    const sources = projections.write.sources.join();
    const launches = this.#kept(
      [products, write],
      sources,
      buckets,
      (bucket, texts) => projectionLaunches(this.#callOf(step, bucket, texts), projections) ?? [],
    );
    return launches.length === 0 ? undefined : launches;
  }

  /** The launch that copies a tensor. */
  copyOf(spec: TensorSpec, bucket: DimValues): Launch {
    const { gpu } = this.#target;
    return tensorCopy({ inputs: [spec], output: spec, slots: this.#slots, bucket, gpu, unitsOf: () => undefined, isGiven: () => false });
  }

  /** The launches of steps, generated once. `variety` tells apart launches of the same steps. */
  #kept(
    steps: readonly Step[],
    variety: string,
    buckets: DimValues,
    generate: (bucket: Record<string, number>, texts: CallTexts) => readonly Launch[],
  ): readonly Launch[] {
    const keys = steps.map((step) => this.#keyOf(step));
    const dims = new Set(keys.flatMap((key) => key.dims));
    const bucket = Object.fromEntries([...dims].map((name) => [name, Math.max(1, buckets[name] ?? 0)]));
    const call = `${keys.map(({ number }) => number).join("+")} ${variety}`;
    const key = `${call} ${Object.values(bucket).join()}`;
    const found = this.#launches.get(key);
    if (found !== undefined) return found;
    const launches = generate(bucket, this.#textsOf(call));
    this.#launches.set(key, launches);
    return launches;
  }

  /** The texts of a call. */
  #textsOf(call: string): CallTexts {
    return {
      textOf: (key, write) => {
        const own = `${call} ${key}`;
        const found = this.#texts.get(own);
        if (found !== undefined) return found;
        const text = write();
        this.#texts.set(own, text);
        return text;
      },
    };
  }

  #callOf(step: Step, bucket: DimValues, texts: CallTexts): KernelCall {
    const units = this.#unitsOf(step);
    const inputs = step.inputs.map((operand) => operand?.spec);
    const { gpu } = this.#target;
    const isGiven = (index: number): boolean => this.#isGiven(step.inputs[index]);
    return { inputs, output: step.output.spec, slots: this.#slots, bucket, gpu, unitsOf: (index) => units[index], isGiven, texts };
  }

  /** The inputs that are weights in units. */
  #unitsOf({ inputs }: Step): readonly (UnitMatrix | undefined)[] {
    return inputs.map((operand) => {
      const definition = operand?.storage.definition;
      return definition?.kind === "persistent" ? this.#target.unitsOf(definition.name) : undefined;
    });
  }

  /** Whether an operand is there before a run's first launch, and no launch writes it. */
  #isGiven(operand: Step["inputs"][number]): boolean {
    return operand !== undefined && operand.storage.definition.kind !== "node" && !this.#written.has(operand.storage);
  }

  #keyOf(step: Step): CallKey {
    const known = this.#keys.get(step);
    if (known !== undefined) return known;
    const { op, params, inputs, output } = step;
    const body = isFused(op) ? (params as FusedParams).body : [];
    const specs = [...inputs.map((operand) => operand?.spec), output.spec];
    const units = this.#unitsOf(step);
    const kinds = inputs.map((operand, i) => (units[i] !== undefined ? "units" : this.#isGiven(operand) ? "given" : ""));
    const key = `${kinds} ${callKey(step)}`;
    const number = this.#numbers.get(key) ?? this.#numbers.size;
    this.#numbers.set(key, number);
    const found = { number, dims: symbolicDims([...specs, ...body.map((inner) => inner.output)]) };
    this.#keys.set(step, found);
    return found;
  }
}
