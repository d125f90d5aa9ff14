import type { ConcreteSpec, TypedArray } from "@centella/core";
import { byteLength, chunksOf, elementAt, HostArrays, type HostResults, type StepTime, typedArrayOf } from "@centella/core/backend";
import { type Device, maxPollMicroseconds } from "../device/device.ts";
import type { Handle } from "../device/driver.ts";
import { bytesOf, copyOf } from "../device/hostArrays.ts";
import { pieceBytes } from "../device/pieces.ts";
import type { PinnedBlock } from "../device/pinnedPool.ts";
import { PinnedResults } from "../device/pinnedResults.ts";
import type { Place } from "./place.ts";
import { type AddressOf, readbackBlock, recordGraph, type Timing, untimed, uploadBlock } from "./recordGraph.ts";
import { UploadStaging } from "./uploadStaging.ts";
import type { VariantPlan } from "./variant.ts";

// As many runs of a variant can be queued on the device. The host prepares the next one meanwhile.
const maxInstances = 4;

/**
 * Uploads and results up to this size pass through page-locked memory of the instance, which the host reads and writes without a call, and are
 * copied by the graph unless its launches store the results themselves. Larger uploads are queued in pieces, so that the device copies one while
 * the host copies the next. Larger results stay in page-locked memory until they are freed.
 */
const maxStagedBytes = 2 ** 16;

/** Runs are polled for if the one before was over after at most so long, which includes the runs that were queued before it. */
const shortRunMicroseconds = 400;

/** A recorded graph with the page-locked blocks of its runs. Serves one run at a time. */
interface Instance {
  readonly graph: Handle;
  readonly upload: PinnedBlock | undefined;
  /** Puts small inputs there. */
  readonly staging: UploadStaging | undefined;
  /** Of small results: the graph stores or copies them to it. */
  readonly readback: PinnedBlock | undefined;
  /** Its content. */
  readonly results: Uint8Array<ArrayBuffer>;
  /** Settles when the run that uses it is over. */
  busy: Promise<unknown> | undefined;
}

const noBytes = new Uint8Array();

/** The arguments of a run. */
export interface StagedRun {
  readonly extents: RunExtents;
  /** Inputs in resident form, by name. */
  readonly host: ReadonlyMap<string, { readonly data: TypedArray }>;
  /** Queues the copies that must follow the graph before the next run may overwrite its memory. */
  readonly afterLaunch?: () => void;
}

/** What a run's symbolic dims determine. */
export interface RunExtents {
  /** Values of the symbolic dims, in the program's order. */
  readonly dims: Uint32Array;
  /** Specs of the host outputs, in the program's order. */
  readonly hostOutputs: readonly ConcreteSpec[];
}

/** Replays one variant: one upload, one submission, and one readback unless launches store the results. */
export class VariantRunner {
  readonly plan: VariantPlan;
  readonly #device: Device;
  readonly #addressOf: AddressOf;
  readonly #kernels: ReadonlyMap<string, Handle>;
  /** The one that was used last is the last. */
  readonly #instances: Instance[] = [];
  readonly #hostOutputs: readonly Place[];
  /** From the submission of the last run to its end. */
  #lastMicroseconds = 0;

  private constructor(device: Device, plan: VariantPlan, addressOf: AddressOf, kernels: ReadonlyMap<string, Handle>) {
    this.#device = device;
    this.plan = plan;
    this.#addressOf = addressOf;
    this.#kernels = kernels;
    this.#hostOutputs = [...plan.hostOutputs.values()];
  }

  /** Compiles the variant's kernels. @throws {KernelError} */
  static async create(device: Device, plan: VariantPlan, addressOf: AddressOf): Promise<VariantRunner> {
    const kernels = new Map<string, Handle>();
    const loads = distinctKernels(plan).map(async ({ op, launch }) => {
      kernels.set(launch.ptx, await device.kernel(op, launch));
    });
    const failed = (await Promise.allSettled(loads)).find((load) => load.status === "rejected");
    const runner = new VariantRunner(device, plan, addressOf, kernels);
    if (failed === undefined) return runner;
    runner.free();
    throw failed.reason;
  }

  /** The same within the call; while nothing is under way. @throws {KernelError} */
  static createSync(device: Device, plan: VariantPlan, addressOf: AddressOf): VariantRunner {
    const kernels = new Map<string, Handle>();
    const runner = new VariantRunner(device, plan, addressOf, kernels);
    try {
      for (const { op, launch } of distinctKernels(plan)) {
        kernels.set(launch.ptx, device.kernelSync(op, launch));
      }
      return runner;
    } catch (error) {
      runner.free();
      throw error;
    }
  }

  /** Starts a run. Resolves when it is queued on the device; the completion gives the host outputs. */
  async start(run: StagedRun): Promise<{ readonly completion: Promise<HostResults> }> {
    const instance = this.#freeInstance() ?? (await this.#oldestInstance());
    return { completion: this.#run(instance, run) };
  }

  /** Starts a run within the call, unless all instances are in use. */
  startAtOnce(run: StagedRun): Promise<HostResults> | undefined {
    const instance = this.#freeInstance();
    return instance && this.#run(instance, run);
  }

  /** A run from its start to the host outputs, on the caller's thread. Only while nothing is under way: every instance is free then. */
  runSync(run: StagedRun): HostResults {
    const instance = this.#freeInstance()!;
    const large = this.#submit(instance, run);
    try {
      this.#device.call((driver) => driver.finishedSync());
      return this.#read(instance, large, run.extents);
    } catch (error) {
      large?.free();
      throw error;
    }
  }

  /**
   * A run of its own with a timer before each of `steps` steps and after the last, or around the run if there is no number of steps.
   * Resolves with the times between them.
   */
  async timeSteps(run: StagedRun, steps: number | undefined): Promise<readonly StepTime[]> {
    const device = this.#device;
    const stepOf = steps === undefined ? () => 0 : ({ step }: { readonly step: number }): number => step;
    const timers: Handle[] = [];
    let instance: Instance | undefined;
    let large: PinnedBlock | undefined;
    try {
      for (let i = 0; i <= (steps ?? 1); i++) timers.push(device.call((driver) => driver.createTimer()));
      instance = this.#record({ timers, stepOf });
      large = this.#submit(instance, run);
      await device.track(device.finished());
      const launches = new Map<number, number>();
      for (const step of this.plan.launches.map(stepOf)) launches.set(step, (launches.get(step) ?? 0) + 1);
      return timers.slice(1).map((timer, step) => {
        const milliseconds = device.call((driver) => driver.elapsedTime(elementAt(timers, step), timer));
        return { microseconds: 1000 * milliseconds, launches: launches.get(step) ?? 0 };
      });
    } finally {
      large?.free();
      if (instance !== undefined) this.#destroy(instance);
      for (const timer of timers) device.quietly(() => device.call((driver) => driver.freeTimer(timer)));
    }
  }

  /** Whether a run is under way. */
  get isBusy(): boolean {
    return this.#instances.some(({ busy }) => busy !== undefined);
  }

  /** Resolves when the runs that were started are over. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#instances.map(({ busy }) => busy));
  }

  /** Frees the graphs, whose runs must be over, and releases the kernels. */
  free(): void {
    for (const instance of this.#instances.splice(0)) this.#destroy(instance);
    for (const ptx of this.#kernels.keys()) this.#device.releaseKernel(ptx);
  }

  /** Queues a run on the device and returns its host outputs. */
  #run(instance: Instance, run: StagedRun): Promise<HostResults> {
    const large = this.#submit(instance, run);
    const start = performance.now();
    const results = this.#device.whenFinished(
      () => {
        this.#lastMicroseconds = 1000 * (performance.now() - start);
        return this.#read(instance, large, run.extents);
      },
      () => {
        instance.busy = undefined;
      },
      this.#lastMicroseconds > shortRunMicroseconds ? 0 : maxPollMicroseconds,
    );
    if (large !== undefined) results.catch(() => large.free());
    instance.busy = results;
    return results;
  }

  /** Queues a run on the device. Returns the block that large results are copied to, which the caller frees. */
  #submit(instance: Instance, { extents, host, afterLaunch }: StagedRun): PinnedBlock | undefined {
    const device = this.#device;
    // The instance's memory is gone with the device.
    device.requireAlive();
    const { readbackBytes } = this.plan;
    const large = readbackBytes > maxStagedBytes ? device.allocPinned(readbackBytes) : undefined;
    try {
      if (instance.upload !== undefined) {
        if (instance.staging !== undefined) instance.staging.fill(extents.dims, host);
        else this.#upload(instance.upload.handle, extents.dims, host);
        device.counters.uploads++;
      }
      device.launched(() => describeRun(this.plan));
      device.call((driver) => driver.launchGraph(instance.graph));
      device.counters.submits++;
      if (large !== undefined) device.call((driver) => driver.copyFromDevice(large.handle, this.#addressOf(readbackBlock), readbackBytes));
      if (readbackBytes > 0) device.counters.readbacks++;
      afterLaunch?.();
      return large;
    } catch (error) {
      large?.free();
      throw error;
    }
  }

  #upload(pinned: Handle, dims: Uint32Array, host: StagedRun["host"]): void {
    this.#uploadPieces(pinned, 0, bytesOf(dims));
    for (const [name, { data }] of host) {
      const place = this.plan.inputs.get(name);
      if (place !== undefined) this.#uploadPieces(pinned, place.offset, bytesOf(data));
    }
  }

  /** Queues copies of an input to the same offset of page-locked memory and of the device's upload block. */
  #uploadPieces(pinned: Handle, to: number, data: Uint8Array): void {
    const address = this.#addressOf(uploadBlock);
    for (const { offset, length } of chunksOf(data.length, 1, pieceBytes)) {
      const at = to + offset;
      this.#device.call((driver) => {
        driver.writePinned(pinned, at, data.subarray(offset, offset + length));
        driver.copyToDevice(address + BigInt(at), pinned, length, at);
      });
    }
  }

  /** Returns the host outputs of a run that is over. They own the block of large ones. */
  #read({ results: { buffer, byteOffset } }: Instance, large: PinnedBlock | undefined, { hostOutputs }: RunExtents): HostResults {
    const { driver, results } = this.#device;
    const places = hostOutputs.map((spec, i) => ({ spec, offset: elementAt(this.#hostOutputs, i).offset }));
    if (large !== undefined) return results.hold(new PinnedResults(driver, large, places));
    const arrays = places.map(({ spec, offset }) => {
      const type = typedArrayOf(spec.dtype);
      return new type(buffer, byteOffset + offset, byteLength(spec) / type.BYTES_PER_ELEMENT).slice();
    });
    return new HostArrays(arrays, copyOf);
  }

  /** An instance that no run uses, a new one if there may be more. */
  #freeInstance(): Instance | undefined {
    const free = this.#instances.findIndex(({ busy }) => busy === undefined);
    if (free >= 0) return this.#use(free);
    return this.#instances.length < maxInstances ? this.#use(this.#instances.push(this.#record()) - 1) : undefined;
  }

  /** The instance that has been in use the longest, once its run is over. */
  async #oldestInstance(): Promise<Instance> {
    const oldest = this.#use(0);
    await Promise.allSettled([oldest.busy]);
    return oldest;
  }

  #use(index: number): Instance {
    const [instance] = this.#instances.splice(index, 1) as [Instance];
    this.#instances.push(instance);
    return instance;
  }

  #destroy({ graph, upload, readback }: Instance): void {
    this.#device.quietly(() => this.#device.call((driver) => driver.freeGraph(graph)));
    upload?.free();
    readback?.free();
  }

  /** Records the graph of an instance. */
  #record(timing: Timing = untimed): Instance {
    const device = this.#device;
    const { uploadBytes, readbackBytes } = this.plan;
    const upload = uploadBytes === 0 ? undefined : device.allocPinned(uploadBytes);
    let readback: PinnedBlock | undefined;
    const view = (block: PinnedBlock): Uint8Array<ArrayBuffer> => device.call((driver) => driver.viewPinned(block.handle, block.bytes));
    try {
      if (readbackBytes > 0 && readbackBytes <= maxStagedBytes) readback = device.allocPinned(readbackBytes);
      const staging = upload === undefined || uploadBytes > maxStagedBytes ? undefined : new UploadStaging(this.plan, view(upload));
      const results = readback === undefined ? noBytes : view(readback);
      const graph = recordGraph(device, this.plan, {
        addressOf: this.#addressOf,
        kernels: this.#kernels,
        upload: staging && upload?.handle,
        readback: readback?.handle,
        timing,
      });
      return { graph, upload, staging, readback, results, busy: undefined };
    } catch (error) {
      upload?.free();
      readback?.free();
      throw error;
    }
  }
}

/** The ops of a run's launches in order, each with the number of its launches. */
function describeRun({ launches }: VariantPlan): string {
  const counts = new Map<string, number>();
  for (const { op } of launches) counts.set(op, (counts.get(op) ?? 0) + 1);
  const ops = [...counts].map(([op, count]) => (count === 1 ? op : `${op} x ${count}`));
  return `a run of ${ops.join(", ") || "copies"}`;
}

/** A launch of each module's text. */
function distinctKernels({ launches }: VariantPlan): readonly VariantPlan["launches"][number][] {
  return [...new Map(launches.map((placed) => [placed.launch.ptx, placed])).values()];
}
