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

/** Identifies the call that a step makes: one object for all steps that have the same launches at the same extents. */
interface CallKey {
  readonly name: string;
  /** Names of the symbolic dims that the launches depend on. */
  readonly dims: readonly string[];
}

type Generate = (bucket: DimValues, texts: CallTexts) => readonly Launch[];

/** The launches of a program's steps at some buckets. */
interface BucketLaunches {
  /** @throws {UnsupportedError} if the step's op has no kernel */
  launchesOf(step: Step): readonly Launch[];
  /** The launches of products with the write of their results; undefined where each has launches of its own. */
  projectionsOf(projected: ProjectedStep): readonly Launch[] | undefined;
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
  readonly #keys = new WeakMap<Step | ProjectedStep, CallKey>();
  readonly #launches = new LruCache<readonly Launch[]>(maxCalls);
  readonly #texts = new LruCache<KernelText>(maxTexts);
  /** Each different call, by its structure. */
  readonly #calls = new Map<string, CallKey>();

  /** `slots`: place of each symbolic dim's value in the buffer of dims, by name. `written`: what steps write. */
  constructor(slots: ReadonlyMap<string, number>, target: LaunchTarget, written: ReadonlySet<Storage>) {
    this.#slots = slots;
    this.#target = target;
    this.#written = written;
  }

  /** The launches at the buckets of the program's dims. An extent of 0 has those of 1. */
  at(buckets: DimValues): BucketLaunches {
    // Looked up once for all layers.
    const found = new Map<CallKey, readonly Launch[]>();
    const launchesOf = (key: CallKey, generate: Generate): readonly Launch[] => {
      const known = found.get(key) ?? this.#kept(key, buckets, generate);
      found.set(key, known);
      return known;
    };
    return {
      launchesOf: (step) => launchesOf(this.#keyOf(step), (bucket, texts) => this.#generate(step, bucket, texts)),
      projectionsOf: (projected) => {
        const { step, products, write, projections } = projected;
        const generate: Generate = (bucket, texts) => projectionLaunches(this.#callOf(step, bucket, texts), projections) ?? [];
        const launches = launchesOf(this.#jointKeyOf(projected, [products, write]), generate);
        return launches.length === 0 ? undefined : launches;
      },
    };
  }

  #generate(step: Step, bucket: DimValues, texts: CallTexts): readonly Launch[] {
    const { op, params } = step;
    const kernel = kernelTable.kernelOf(op);
    if (kernel === undefined) throw new UnsupportedError(`cuda: ${op.name}`, "there is no kernel");
    return kernel.launches(this.#callOf(step, bucket, texts), params);
  }

  /** The launch that copies a tensor. */
  copyOf(spec: TensorSpec, bucket: DimValues): Launch {
    const { gpu } = this.#target;
    return tensorCopy({ inputs: [spec], output: spec, slots: this.#slots, bucket, gpu, unitsOf: () => undefined, isGiven: () => false });
  }

  /** The launches of a call, generated once for each bucket of the dims that they depend on. */
  #kept({ name, dims }: CallKey, buckets: DimValues, generate: Generate): readonly Launch[] {
    const bucket = Object.fromEntries(dims.map((dim) => [dim, Math.max(1, buckets[dim] ?? 0)]));
    const key = `${name} ${Object.values(bucket).join()}`;
    const found = this.#launches.get(key);
    if (found !== undefined) return found;
    const launches = generate(bucket, this.#textsOf(name));
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
    const dims = symbolicDims([...specs, ...body.map((inner) => inner.output)]);
    return this.#remember(step, `${kinds} ${callKey(step)}`, dims);
  }

  /** The key of products with the write of their results. */
  #jointKeyOf(projected: ProjectedStep, steps: readonly Step[]): CallKey {
    const known = this.#keys.get(projected);
    if (known !== undefined) return known;
    const keys = steps.map((step) => this.#keyOf(step));
    const structure = `projected ${keys.map(({ name }) => name).join("+")} ${projected.projections.write.sources.join()}`;
    return this.#remember(projected, structure, [...new Set(keys.flatMap(({ dims }) => dims))]);
  }

  /** The key of a call with this structure, the same one for all steps that make it. */
  #remember(step: Step | ProjectedStep, structure: string, dims: readonly string[]): CallKey {
    const found = this.#calls.get(structure) ?? { name: `${this.#calls.size}`, dims };
    this.#calls.set(structure, found);
    this.#keys.set(step, found);
    return found;
  }
}
