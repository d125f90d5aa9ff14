import { elementAt, entryOf } from "@centella/quant/checks";
import type { Backend, CompileOptions, InputData, LoadOptions, Plan, RunOptions, TensorSource } from "../backend/backend.ts";
import { bind } from "../backend/bind.ts";
import { requirePersistent } from "../backend/planBase.ts";
import type { TypedArray } from "../dtype.ts";
import { ArgumentError, DisposedError, UnsupportedError } from "../errors.ts";
import { loadOptions, runOptions } from "../kinds.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import type { DimValues } from "../spec.ts";
import type { Tensor } from "../tensor.ts";
import { devicesIn, type Part, type Placement, splitByPlacement } from "./placement.ts";

interface CompiledPart extends Part {
  readonly backend: Backend;
  readonly plan: Plan;
}

/**
 * Compiles a program whose persistents are on several devices. Each part is compiled on its own; results of one part are inputs of
 * the next. With a single device this is that backend's own plan. `backends[0]` holds the persistents that `placement` does not name.
 * @throws {ArgumentError} for a device that is no open backend
 * @throws {UnsupportedError} for a call without a kernel on its device
 */
export async function compilePlaced(
  program: ProgramGraph,
  placement: Placement,
  backends: readonly Backend[],
  { signal, background, shareWith }: Pick<CompileOptions, "signal" | "background"> & { readonly shareWith?: SplitPlan } = {},
): Promise<Plan> {
  const byName = new Map(backends.map((backend) => [backend.name, backend]));
  const unknown = devicesIn(placement).find((device) => !byName.has(device));
  if (unknown !== undefined) {
    const fix = "give its factory to createRuntime, and see runtime.candidates for why it is not open";
    throw new ArgumentError("placement", `devices among the open backends ${[...byName.keys()].join(", ")}`, unknown, fix);
  }
  const split = splitByPlacement(program, placement, elementAt(backends, 0).name);
  // A single part is the program as it was recorded, with inputs that nothing reads.
  const parts = split.length === 1 ? split.map((part) => ({ ...part, program })) : split;
  const compiled: CompiledPart[] = [];
  try {
    for (const part of parts) {
      const backend = entryOf(byName, part.device);
      const known = compiled.find(({ device }) => device === part.device)?.plan ?? shareWith?.planOf(part.device);
      const plan = await backend.compile(part.program, {
        ...(signal && { signal }),
        ...(background === true && { background }),
        ...(known && { shareWith: known }),
        sharedBy: parts.filter((other) => other !== part && other.device === part.device).map((other) => other.program),
      });
      compiled.push({ ...part, backend, plan });
    }
  } catch (error) {
    for (const { plan } of compiled) plan.dispose();
    throw error;
  }
  return compiled.length === 1 ? elementAt(compiled, 0).plan : new SplitPlan(program, compiled, placement, backends);
}

/** Parts of one program on several backends, run one after the other. */
export class SplitPlan implements Plan {
  readonly program: ProgramGraph;
  readonly placement: Placement;
  /** The first one holds the persistents that the placement does not name. */
  readonly backends: readonly Backend[];
  readonly warnings: readonly string[];
  readonly runSync?: NonNullable<Plan["runSync"]>;
  readonly #parts: readonly CompiledPart[];
  /** Names of the values that one part passes to another. */
  readonly #cuts: ReadonlySet<string>;
  #disposed = false;

  constructor(program: ProgramGraph, parts: readonly CompiledPart[], placement: Placement, backends: readonly Backend[]) {
    this.program = program;
    this.placement = placement;
    this.backends = backends;
    this.#parts = parts;
    this.#cuts = new Set(parts.flatMap(({ cuts }) => cuts.map(({ name }) => name)));
    this.warnings = [...new Set(parts.flatMap(({ plan }) => plan.warnings))];
    if (parts.every(({ plan }) => plan.runSync !== undefined)) this.runSync = (inputs, options) => this.#runSync(inputs, options);
  }

  /** The plan that holds a backend's persistents. */
  planOf(device: string): Plan | undefined {
    return this.#parts.find((part) => part.device === device)?.plan;
  }

  async load(name: string, source: TensorSource, options: LoadOptions = {}): Promise<void> {
    const { signal, onProgress } = loadOptions(options);
    const holders = this.#holders(name);
    for (const [i, plan] of holders.entries()) {
      const progress = (done: number, total: number): void => onProgress?.((i * total + done) / holders.length, total);
      await plan.load(name, source, { ...(signal && { signal }), onProgress: progress });
    }
  }

  async prepare(extents: readonly DimValues[]): Promise<void> {
    await Promise.all(this.#parts.map(({ plan }) => plan.prepare?.(extents)));
  }

  async save(name: string): Promise<TypedArray> {
    return elementAt(this.#holders(name), 0).save(name);
  }

  reset(name: string): void {
    for (const plan of this.#holders(name)) plan.reset(name);
  }

  run(inputs: Readonly<Record<string, InputData>>, options: RunOptions = {}): Record<string, Tensor> {
    const { dims: explicit, signal } = runOptions(options);
    if (this.#disposed) throw new DisposedError("plan");
    signal?.throwIfAborted();
    const { dims } = bind(this.program, inputs, explicit);
    const between = new Map<string, Tensor>();
    const results: Record<string, Tensor> = {};
    const done: Promise<void>[] = [];
    try {
      for (const { program, plan, backend } of this.#parts) {
        if (program.nodes.length + program.outputs.length === 0) continue;
        const given = [...program.inputs.keys()].map((name) => [name, between.get(name) ?? inputs[name]!] as const);
        const outputs = plan.run(Object.fromEntries(given), { dims, ...(signal && { signal }) });
        for (const [name, tensor] of Object.entries(outputs)) {
          if (this.#cuts.has(name)) between.set(name, tensor);
          else results[name] = tensor;
          done.push(tensor.ready());
        }
        // Without outputs, no tensor shows when the part has read its inputs: wait for the backend.
        if (program.outputs.length === 0) done.push(backend.idle());
      }
    } catch (error) {
      for (const tensor of Object.values(results)) tensor.dispose();
      throw error;
    } finally {
      // If a part fails, the parts that depend on it fail, and so do the readers of the outputs.
      void Promise.allSettled(done).then(() => {
        for (const tensor of between.values()) tensor.dispose();
      });
    }
    return results;
  }

  async profile(): Promise<never> {
    const devices = [...new Set(this.#parts.map(({ device }) => device))].join(", ");
    throw new UnsupportedError("profile", `the plan has parts on ${devices}; compile the program for one of them`);
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const { plan } of this.#parts.toReversed()) plan.dispose();
  }

  #runSync(inputs: Readonly<Record<string, TypedArray>>, { dims: explicit }: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    if (this.#disposed) throw new DisposedError("plan");
    const { dims } = bind(this.program, inputs, explicit);
    const known = new Map(Object.entries(inputs));
    for (const { program, plan } of this.#parts) {
      const given = [...program.inputs.keys()].map((name) => [name, entryOf(known, name)] as const);
      for (const [name, output] of Object.entries(plan.runSync!(Object.fromEntries(given), { dims }))) known.set(name, output);
    }
    return Object.fromEntries(this.program.outputs.map(({ name }) => [name, entryOf(known, name)]));
  }

  /** A plan of each backend that holds a persistent. */
  #holders(name: string): readonly Plan[] {
    if (this.#disposed) throw new DisposedError("plan");
    requirePersistent(this.program, name);
    const holding = this.#parts.filter(({ program }) => program.persistents.has(name));
    return [...new Map(holding.toReversed().map(({ device, plan }) => [device, plan])).values()].reverse();
  }
}
