import {
  type FusedParams,
  isFused,
  type Lowered,
  lower as lowerProgram,
  maxSpec,
  type Operand,
  type PlanBase,
  type ProgramGraph,
  type Step,
  withPersistents,
} from "@centella/core/backend";
import { groupRows } from "../formats/block.ts";
import type { FormatName } from "../formats/index.ts";
import type { BuildContext, Emitted, Stage, Task } from "../kernel.ts";
import { isLazy } from "../kernels/lazy/lazyKernels.ts";
import { kernelOf } from "../linking/baseModule.ts";
import type { PlanLinker } from "../linking/planLinker.ts";
import type { MemoryInstance } from "../memory/memoryInstance.ts";
import type { Interleave, WasmPersistentBuffer } from "../memory/persistentBuffer.ts";
import { type PlanMemory, placePlan } from "../memory/planMemory.ts";
import { addBuffers } from "../memory/planPersistents.ts";
import type { WasmPlanOwner } from "./planOwner.ts";
import { runRecorded } from "./runner.ts";

/** Everything that a plan consists of. */
export interface PlanParts {
  readonly instance: MemoryInstance;
  readonly lowered: Lowered;
  readonly persistents: ReadonlyMap<string, WasmPersistentBuffer>;
  readonly tasks: readonly Task[];
  /** The functions that were emitted for this plan. */
  readonly module: PlanLinker;
  readonly memory: PlanMemory;
  /** Addresses of the memory that belongs to the plan alone. */
  readonly owned: readonly number[];
}

/** The plan whose persistents a new plan uses, and the programs that will use those of the new plan. */
interface Sharing {
  readonly shared?: PlanBase<WasmPersistentBuffer> | undefined;
  readonly sharedBy?: readonly ProgramGraph[] | undefined;
}

/** Compiles a program: takes its memory, and builds the tasks of its steps. @throws {UnsupportedError | OutOfMemoryError | DisposedError} */
export function buildPlan(
  owner: WasmPlanOwner,
  instance: MemoryInstance,
  program: ProgramGraph,
  { shared, sharedBy = [] }: Sharing,
): PlanParts {
  const lower = (graph: ProgramGraph): Lowered => lowerProgram(graph, owner.name, (...call) => owner.unsupported(...call), owner);
  const all: readonly [Lowered, ...Lowered[]] = [lower(program), ...sharedBy.map(lower)];
  return withPersistents(program, shared, (persistents) => placeTasks(owner, instance, all, persistents));
}

/** Builds the tasks of the first program. `all` has it and the programs that will use its persistents. */
function placeTasks(
  owner: WasmPlanOwner,
  instance: MemoryInstance,
  all: readonly [Lowered, ...Lowered[]],
  persistents: Map<string, WasmPersistentBuffer>,
): PlanParts {
  const [lowered] = all;
  const module = owner.planLinker(instance);
  const owned: number[] = [];
  try {
    addBuffers(instance.heap, lowered, all, persistents, interleaverOf(owner, instance));
    const builder = new PlanBuilder(owner, instance, module, persistents);
    const tasks = lowered.steps.map((step) => builder.task(step));
    const { scratchBytes } = builder;
    const memory = placePlan(instance.heap, { lowered, persistents, scratchBytes, checkWrites: owner.checkWrites }, owned);
    builder.placeTables(owned);
    return { instance, lowered, persistents, tasks, module, memory, owned };
  } catch (error) {
    for (const address of owned) instance.heap.free(address);
    module.dispose();
    throw error;
  }
}

/** Bytes from which interleaving into memory that was never written takes longer than waking threads for it. */
const sharedBytes = 2 ** 21;
/** Tiles of each thread while rows are interleaved. */
const tilesPerThread = 4;

/** What interleaves rows in a memory: threads where they share it, and the caller's thread where they do not. */
function interleaverOf(owner: WasmPlanOwner, instance: MemoryInstance): (form: FormatName) => Interleave {
  return (form) => {
    const fn = instance.exports(`interleave.${form}`);
    return async (rows, to, rowBytes, groups) => {
      const pool = instance.isShared && groups * groupRows * rowBytes >= sharedBytes ? owner.pool : undefined;
      const grain = Math.ceil(groups / (tilesPerThread * (pool?.size ?? 1)));
      const stages = (): readonly Stage[] => [{ fn, args: [rows, to, rowBytes], total: groups, grain }];
      if (pool === undefined) fn(rows, to, rowBytes, 0, groups);
      else await runRecorded(instance.memory, pool, stages);
    };
  };
}

/** Memory of a plan's own that outlives runs. */
interface Table {
  readonly bytes: number;
  readonly write: ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined;
  address: number;
}

/** Builds the tasks of a plan's steps, and collects the memory that their kernels ask for. */
class PlanBuilder {
  /** Scratch memory that the neediest step asked for. */
  scratchBytes = 0;
  readonly #instance: MemoryInstance;
  readonly #context: BuildContext;
  readonly #tables: Table[] = [];

  constructor(owner: WasmPlanOwner, instance: MemoryInstance, module: PlanLinker, persistents: ReadonlyMap<string, WasmPersistentBuffer>) {
    this.#instance = instance;
    const bufferOf = ({ storage: { definition } }: Operand): WasmPersistentBuffer | undefined =>
      definition.kind === "persistent" ? persistents.get(definition.name) : undefined;
    const results = new Map<string, unknown>();
    this.#context = {
      exports: (name) => instance.exports(name),
      onDemand: (name) => instance.onDemand(name),
      include: (emit) => instance.include({ emit }),
      heap: instance.heap,
      target: owner.target,
      threads: owner.pool?.size ?? 1,
      maxThreads: instance.memory.maxThreads,
      max: ({ spec }) => maxSpec(spec),
      interleaving: (operand) => bufferOf(operand)?.interleaving,
      isPacked: (operand) => bufferOf(operand)?.isPacked === true,
      reserve: (bytes) => {
        this.scratchBytes = Math.max(this.scratchBytes, bytes);
      },
      table: (bytes, write) => this.#table({ bytes, write, address: 0 }),
      emit: (key, define): Emitted => module.emit(key, define),
      shared<T>(key: string, create: () => T): T {
        if (!results.has(key)) results.set(key, create());
        return results.get(key) as T;
      },
    };
  }

  task({ op, inputs, params, output, extraOutputs }: Step): Task {
    const kernel = this.#instance.custom.get(op) ?? kernelOf(op);
    if (kernel === undefined) throw new RangeError(`expected a kernel of ${op.name}, got none`);
    const calls = isFused(op) ? (params as FusedParams).body.map((call) => call.op) : [op];
    for (const used of calls) {
      const lazy = isLazy(used) ? kernelOf(used) : undefined;
      if (lazy !== undefined) this.#instance.include(lazy);
    }
    return kernel.build(this.#context, inputs, params, output, extraOutputs);
  }

  /** Allocates and fills the tables; adds their addresses to `owned`. */
  placeTables(owned: number[]): void {
    const { heap } = this.#instance;
    for (const table of this.#tables) {
      table.address = heap.allocZeroed(table.bytes, "arenas");
      owned.push(table.address);
      if (table.write === undefined) continue;
      const bytes = new Uint8Array(table.bytes);
      table.write(bytes);
      heap.u8.set(bytes, table.address);
    }
  }

  #table(table: Table): () => number {
    this.#tables.push(table);
    return () => table.address;
  }
}
