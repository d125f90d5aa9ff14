import { boolean, checkOptions } from "@centella/quant/checks";
import type { Backend, BackendFactory, CompileOptions, Counters, MemoryReport, Plan } from "../backend/backend.ts";
import { createCounters } from "../backend/counters.ts";
import { type PlanBase, type PlanOwner, persistentBytes } from "../backend/planBase.ts";
import { WorkQueue } from "../backend/workQueue.ts";
import { lower } from "../compiler/lower.ts";
import type { TypedArray } from "../dtype.ts";
import { DisposedError, NotLoadedError } from "../errors.ts";
import { compileOptions } from "../kinds.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import type { ConcreteSpec } from "../spec.ts";
import { hostTensor, type Tensor } from "../tensor.ts";
import type { ReferencePersistentBuffer } from "./persistentBuffer.ts";
import { referenceBytes } from "./referenceMemory.ts";
import type { ReferencePlan } from "./referencePlan.ts";

export interface ReferenceOptions {
  /** False computes programs as they were recorded, for comparison with optimised programs. */
  readonly optimize?: boolean;
}

/** The scalar backend: runs every op's own `reference`, slowly and exactly. */
export function reference(options: ReferenceOptions = {}): BackendFactory {
  const { optimize = true } = checkOptions("reference", options, { optimize: boolean });
  return {
    name: "reference",
    open: async () => {
      const backend = new ReferenceBackend(optimize);
      await backend.ready();
      return backend;
    },
    weightBytes: referenceBytes,
  };
}

/** The scalar backend. The definitions of the ops are loaded by {@link ready} or the first `compile`: most apps never need them. */
export class ReferenceBackend implements Backend, PlanOwner<ReferencePersistentBuffer> {
  readonly name = "reference";
  readonly memoryModel = "buffers";
  readonly device = { kind: "cpu", name: "scalar TypeScript", threads: 1 } as const;
  readonly counters: Counters = createCounters();
  readonly plans: Set<PlanBase<ReferencePersistentBuffer>> = new Set();
  /** Bytes of outputs that were not disposed of. */
  outputBytes = 0;
  readonly #queue = new WorkQueue();
  readonly #optimize: boolean;
  #Plan: typeof ReferencePlan | undefined;
  #disposed = false;

  constructor(optimize: boolean) {
    this.#optimize = optimize;
  }

  /** Whether the definitions are loaded. */
  get syncAvailable(): boolean {
    return this.#Plan !== undefined;
  }

  /** Loads the definitions. @throws {NotLoadedError} */
  async ready(): Promise<void> {
    if (this.#Plan !== undefined) return;
    const loaded = await import("./referencePlan.ts").catch((cause: unknown) => {
      throw new NotLoadedError(this.name, `its code could not be fetched (${String(cause)}); check the network`, { cause });
    });
    this.#Plan = loaded.ReferencePlan;
  }

  get isBusy(): boolean {
    return this.#queue.busy;
  }

  enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#queue.enqueue(work);
  }

  requireAlive(): void {
    if (this.#disposed) throw new DisposedError("backend reference");
  }

  unsupported(): undefined {
    return undefined;
  }

  async compile(program: ProgramGraph, options: CompileOptions = {}): Promise<Plan> {
    const { shareWith, signal } = compileOptions(program, options);
    await this.ready();
    signal?.throwIfAborted();
    return this.#compile(program, shareWith);
  }

  compileSync(program: ProgramGraph): Plan {
    return this.#compile(program, undefined);
  }

  #compile(program: ProgramGraph, shareWith: Plan | undefined): Plan {
    this.requireAlive();
    if (this.#Plan === undefined) throw new NotLoadedError("compileSync", "the reference is not loaded yet; await a call on it first");
    const plan = new this.#Plan(
      this,
      lower(program, this.name, this.unsupported, { memoryModel: this.memoryModel, optimize: this.#optimize }),
      shareWith,
    );
    this.plans.add(plan);
    return plan;
  }

  upload(spec: ConcreteSpec, data: TypedArray): Tensor {
    this.requireAlive();
    return hostTensor(spec, data);
  }

  memory(): MemoryReport {
    return { persistents: persistentBytes(this.plans), arenas: 0, tensors: this.outputBytes, other: 0 };
  }

  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.idle();
    for (const plan of this.plans) plan.dispose();
  }
}
