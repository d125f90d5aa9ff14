import { check, describe } from "@centella/quant/checks";
import type { Lowered } from "../compiler/lowered.ts";
import type { TypedArray } from "../dtype.ts";
import { ArgumentError, DisposedError, ProgramError } from "../errors.ts";
import { loadOptions, profileOptions, runOptions, tensorSource } from "../kinds.ts";
import type { Persistent, ProgramGraph } from "../program/programGraph.ts";
import { formatSpec } from "../spec.ts";
import type { Tensor } from "../tensor.ts";
import type { Counters, InputData, LoadOptions, Plan, Profile, ProfileOptions, RunOptions, StepTime, TensorSource } from "./backend.ts";
import { Binder, type Binding, requireArrays } from "./bind.ts";
import { convertedWarnings } from "./convertedWarnings.ts";
import type { PersistentBuffer } from "./persistentBuffer.ts";

/** Variants that a plan keeps on a GPU: programs with several symbolic dims have many buckets. */
export const maxVariants = 64;

/** The part of a backend that its plans use and account to. */
export interface PlanOwner<B extends PersistentBuffer = PersistentBuffer> {
  /** Name of the backend. */
  readonly name: string;
  readonly counters: Counters;
  /** Plans that hold memory. */
  readonly plans: Set<PlanBase<B>>;
  /** True while work is queued or under way. */
  readonly isBusy: boolean;
  /** Runs work after all work that was queued before. */
  enqueue<T>(work: () => T | Promise<T>): Promise<T>;
  /** @throws {DisposedError | DeviceLostError} if the backend cannot be used any more */
  requireAlive(): void;
}

/**
 * What plans of all backends have in common: checks of every call, persistents that plans share, the order of loads, resets and
 * runs, and the end of a plan after its last run. A backend supplies {@link start}, {@link timeSteps} and {@link free}, and `runSync` over
 * {@link bindSync} if it computes within the call.
 */
export abstract class PlanBase<B extends PersistentBuffer> implements Plan {
  /** By name. */
  readonly persistents: ReadonlyMap<string, B>;
  readonly warnings: readonly string[];
  protected readonly lowered: Lowered;
  readonly #owner: PlanOwner<B>;
  /** The weights that steps read. */
  readonly #weights: readonly B[];
  /** Number of steps of each op. */
  readonly #steps: ReadonlyMap<string, number>;
  readonly #binder: Binder;
  #isDisposed = false;

  /** Takes over `persistents`, one hold on each. Add the plan to `owner.plans` once it is complete. `warnings` are the backend's own. */
  constructor(owner: PlanOwner<B>, lowered: Lowered, persistents: ReadonlyMap<string, B>, warnings: readonly string[] = []) {
    this.#owner = owner;
    this.lowered = lowered;
    this.#binder = new Binder(lowered.program);
    this.persistents = persistents;
    const used = lowered.persistents.map(({ name }) => this.persistent(name));
    this.warnings = [...convertedWarnings(owner.name, used), ...warnings];
    this.#weights = used.filter(({ persistent }) => persistent.init === "load");
    const steps = new Map<string, number>();
    for (const { op } of lowered.steps) steps.set(op.name, (steps.get(op.name) ?? 0) + 1);
    this.#steps = steps;
  }

  get program(): ProgramGraph {
    return this.lowered.program;
  }

  /** Whether all weights that steps read are loaded. */
  protected get isLoaded(): boolean {
    return this.#weights.every(({ isLoaded }) => isLoaded);
  }

  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  async load(name: string, source: TensorSource, options: LoadOptions = {}): Promise<void> {
    this.requireAlive();
    const buffer = this.persistent(name);
    check(`load ${name}`, "source", source, tensorSource);
    loadOptions(options);
    await this.#owner.enqueue(() => buffer.load(source, options));
  }

  async save(name: string): Promise<TypedArray> {
    this.requireAlive();
    const buffer = this.persistent(name);
    return this.#owner.enqueue(() => buffer.save());
  }

  reset(name: string): void {
    this.requireAlive();
    const buffer = this.persistent(name);
    if (buffer.persistent.init !== "zeros")
      throw new ProgramError(`reset: expected a persistent that starts as zeros, got the weight ${name}; load it again`);
    this.#owner.enqueue(() => buffer.reset()).catch(() => undefined);
  }

  run(inputs: Readonly<Record<string, InputData>>, options: RunOptions = {}): Record<string, Tensor> {
    const { dims, signal } = runOptions(options);
    this.requireAlive();
    signal?.throwIfAborted();
    this.#requireLoaded();
    return this.start(this.#binder.bind(inputs, dims), signal);
  }

  async profile(inputs: Readonly<Record<string, InputData>>, options: ProfileOptions = {}): Promise<Profile> {
    const { dims, signal, perStep = true } = profileOptions(options);
    this.requireAlive();
    signal?.throwIfAborted();
    this.#requireLoaded();
    const timed = this.timeSteps(this.#binder.bind(inputs, dims), perStep, signal);
    const [times, { profileOf }] = await Promise.all([timed, import("./profile.ts")]);
    return profileOf(this.lowered, perStep, times);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    const release = (): void => {
      this.#owner.plans.delete(this);
      this.free();
      for (const buffer of this.persistents.values()) buffer.release();
    };
    if (!this.#owner.isBusy) release();
    else this.#owner.enqueue(() => this.settled().then(release)).catch(() => undefined);
  }

  /** Starts a run, and returns handles of its outputs. */
  protected abstract start(binding: Binding, signal: AbortSignal | undefined): Record<string, Tensor>;

  /**
   * Runs the program in order with other runs and drops the outputs. Resolves with the time of each step, or with the one time of the
   * whole run.
   * @throws {UnsupportedError} where the device cannot tell
   */
  protected abstract timeSteps(binding: Binding, perStep: boolean, signal: AbortSignal | undefined): Promise<readonly StepTime[]>;

  /** Frees what the plan has besides its persistents. No run is under way. */
  protected abstract free(): void;

  /** Resolves when the runs that left the queue are over. */
  protected async settled(): Promise<void> {}

  /** Checks a call of `runSync`, and binds its inputs. @throws {ProgramError} while work is under way */
  protected bindSync(inputs: Readonly<Record<string, TypedArray>>, options: Pick<RunOptions, "dims">): Binding {
    const { dims } = runOptions(options);
    requireArrays(inputs);
    this.requireAlive();
    requireIdle("runSync", this.#owner);
    this.#requireLoaded();
    return this.#binder.bind(inputs, dims);
  }

  /** @throws {DisposedError} also for the backend, {DeviceLostError} */
  protected requireAlive(): void {
    this.#owner.requireAlive();
    if (this.#isDisposed) throw new DisposedError("plan");
  }

  /** The buffer of a persistent. @throws {ProgramError} if the program declares none of the name */
  protected persistent(name: string): B {
    const buffer = this.persistents.get(name);
    if (buffer === undefined) throw unknownPersistent(name);
    return buffer;
  }

  /** Counts a run of all steps. */
  protected countSteps(): void {
    const { ops } = this.#owner.counters;
    for (const [op, count] of this.#steps) ops[op] = (ops[op] ?? 0) + count;
  }

  /** @throws {ProgramError} naming every weight that a step reads and that was not loaded */
  #requireLoaded(): void {
    if (this.isLoaded) return;
    const missing = this.#weights.filter(({ isLoaded }) => !isLoaded);
    const names = missing.map(({ persistent }) => persistent.name).join(", ");
    throw new ProgramError(`run: expected every weight to be loaded, got none for ${names}; call plan.load() first`);
  }
}

/** @throws {ProgramError} while work is under way, which a call that computes at once can neither wait for nor overtake */
export function requireIdle(call: string, { isBusy }: Pick<PlanOwner, "isBusy">): void {
  if (isBusy)
    throw new ProgramError(`${call}: expected no work under way on this backend, got some that is queued; await backend.idle() first`);
}

/** @throws {ProgramError} if the program declares no such persistent */
export function requirePersistent(program: ProgramGraph, name: string): Persistent {
  const persistent = program.persistents.get(name);
  if (persistent === undefined) throw unknownPersistent(name);
  return persistent;
}

function unknownPersistent(name: string): ProgramError {
  const got = typeof name === "string" ? name : describe(name);
  return new ProgramError(`plan: expected a persistent of the program, got ${got}; declare it with persistent()`);
}

/**
 * Returns the plan of this backend whose persistents a new plan is to share.
 * @throws {ArgumentError} for a plan of another backend
 * @throws {DisposedError} for a plan that was disposed of
 */
export function sharedPlan<P extends Plan>(plans: ReadonlySet<P>, shareWith: Plan | undefined): P | undefined {
  if (shareWith === undefined) return undefined;
  if (shareWith instanceof PlanBase && shareWith.isDisposed) throw new DisposedError("plan");
  if (!isMember(plans, shareWith)) throw new ArgumentError("compile", "shareWith to be a plan of this backend", "another one");
  return shareWith;
}

function isMember<P extends Plan>(plans: ReadonlySet<P>, plan: Plan): plan is P {
  return (plans as ReadonlySet<Plan>).has(plan);
}

/**
 * Builds a new plan or its parts with the persistents of `program`. `build` receives the buffers of `plan` for those persistents that it
 * has with the same spec, and adds the {@link missingPersistents}. If it fails, the new plan's holds on all of them end.
 * @throws {DisposedError} for a plan that was disposed of
 */
export function withPersistents<B extends PersistentBuffer, Built>(
  program: ProgramGraph,
  plan: PlanBase<B> | undefined,
  build: (buffers: Map<string, B>) => Built,
): Built {
  const buffers = retainShared(program, plan);
  const fail = (error: unknown): never => {
    for (const buffer of buffers.values()) buffer.release();
    throw error;
  };
  try {
    const built = build(buffers);
    return built instanceof Promise ? (built.catch(fail) as Built) : built;
  } catch (error) {
    return fail(error);
  }
}

/** The persistents of `program` that have no buffer yet. */
export function missingPersistents(program: ProgramGraph, buffers: ReadonlyMap<string, PersistentBuffer>): readonly Persistent[] {
  return [...program.persistents.values()].filter(({ name }) => !buffers.has(name));
}

function retainShared<B extends PersistentBuffer>(program: ProgramGraph, plan: PlanBase<B> | undefined): Map<string, B> {
  if (plan?.isDisposed === true) throw new DisposedError("plan");
  const buffers = new Map<string, B>();
  for (const { name, spec } of program.persistents.values()) {
    const buffer = plan?.persistents.get(name);
    if (buffer === undefined || formatSpec(buffer.persistent.spec) !== formatSpec(spec)) continue;
    buffer.retain();
    buffers.set(name, buffer);
  }
  return buffers;
}

/** Bytes of the persistents of plans, each buffer counted once. */
export function persistentBytes(plans: ReadonlySet<PlanBase<PersistentBuffer>>): number {
  const buffers = new Set([...plans].flatMap((plan) => [...plan.persistents.values()]));
  return [...buffers].reduce((sum, { bytes }) => sum + bytes, 0);
}
