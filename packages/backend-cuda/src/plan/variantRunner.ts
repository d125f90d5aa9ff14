import type { TypedArray } from "@centella/core";
import { elementAt, entryOf, type StepTime } from "@centella/core/backend";
import type { Device, PinnedBlock } from "../device/device.ts";
import { bytesOf } from "../device/deviceTensor.ts";
import type { Handle } from "../device/driver.ts";
import type { Place, VariantPlan } from "./variant.ts";

/** Returns the address of a place. */
export type AddressOf = (place: Place) => Handle;

// As many runs of a variant can be queued on the device. The host prepares the next one meanwhile.
const maxInstances = 4;

/** A recorded graph with the page-locked blocks that its copies are bound to. Serves one run at a time. */
interface Instance {
  readonly graph: Handle;
  readonly upload: PinnedBlock | undefined;
  readonly readback: PinnedBlock | undefined;
  /** Settles when the run that uses it is over. */
  busy: Promise<unknown> | undefined;
}

/** Timers to record between the launches of a graph. */
interface Timing {
  readonly timers: readonly Handle[];
  stepOf(launch: { readonly step: number }): number;
}

const untimed: Timing = { timers: [], stepOf: () => 0 };

/** The arguments of a run. */
export interface StagedRun {
  /** Values of the symbolic dims, in the program's order. */
  readonly dims: readonly number[];
  /** Inputs in resident form, by name. */
  readonly host: ReadonlyMap<string, TypedArray>;
  /** Queues the copies that must follow the graph before the next run may overwrite its memory. */
  afterLaunch(): void;
}

/** Replays one variant: one upload, one submission, one readback per run. */
export class VariantRunner {
  readonly plan: VariantPlan;
  readonly #device: Device;
  readonly #addressOf: AddressOf;
  readonly #kernels: ReadonlyMap<string, Handle>;
  readonly #instances: Instance[] = [];
  readonly #hostOutputs: readonly (readonly [string, Place])[];

  private constructor(device: Device, plan: VariantPlan, addressOf: AddressOf, kernels: ReadonlyMap<string, Handle>) {
    this.#device = device;
    this.plan = plan;
    this.#addressOf = addressOf;
    this.#kernels = kernels;
    this.#hostOutputs = [...plan.outputs].filter(([, { region }]) => region.kind === "readback");
  }

  /** Compiles the variant's kernels. @throws {KernelError} */
  static async create(device: Device, plan: VariantPlan, addressOf: AddressOf): Promise<VariantRunner> {
    const kernels = new Map<string, Handle>();
    const loads = distinctKernels(plan).map(async ({ op, launch: { ptx, entry, sharedBytes } }) => {
      kernels.set(ptx, await device.kernel(op, ptx, entry, sharedBytes));
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
        const { ptx, entry, sharedBytes } = launch;
        kernels.set(ptx, device.kernelSync(op, ptx, entry, sharedBytes));
      }
      return runner;
    } catch (error) {
      runner.free();
      throw error;
    }
  }

  /** Starts a run. Resolves when it is queued on the device; the completion gives the host outputs' bytes, by name. */
  async start(run: StagedRun): Promise<{ readonly completion: Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>> }> {
    const instance = await this.#acquire();
    this.#submit(instance, run);
    const completion = this.#device.track(this.#results(instance));
    instance.busy = completion.catch(() => undefined);
    return { completion };
  }

  /** A run from its start to the host outputs' bytes, on the caller's thread. Only while nothing is under way: every instance is free then. */
  runSync(run: StagedRun): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
    const instance = this.#instances[0] ?? this.#newInstance();
    this.#submit(instance, run);
    this.#device.call((driver) => driver.finishedSync());
    return this.#read(instance);
  }

  /**
   * A run of its own with a timer before each of `steps` steps and after the last, or around the run if there is no number of steps.
   * Resolves with the times between them.
   */
  async timeSteps(run: Pick<StagedRun, "dims" | "host">, steps: number | undefined): Promise<readonly StepTime[]> {
    const device = this.#device;
    const stepOf = steps === undefined ? () => 0 : ({ step }: { readonly step: number }): number => step;
    const timers = Array.from({ length: (steps ?? 1) + 1 }, () => device.call((driver) => driver.createTimer()));
    let instance: Instance | undefined;
    try {
      instance = this.#record({ timers, stepOf });
      this.#submit(instance, { ...run, afterLaunch: () => undefined });
      await device.track(device.finished());
      const launches = new Map<number, number>();
      for (const step of this.plan.launches.map(stepOf)) launches.set(step, (launches.get(step) ?? 0) + 1);
      return timers.slice(1).map((timer, step) => {
        const milliseconds = device.call((driver) => driver.elapsedTime(elementAt(timers, step), timer));
        return { microseconds: 1000 * milliseconds, launches: launches.get(step) ?? 0 };
      });
    } finally {
      if (instance !== undefined) this.#freeInstance(instance);
      for (const timer of timers) device.quietly(() => device.call((driver) => driver.freeTimer(timer)));
    }
  }

  /** Resolves when the runs that were started are over. */
  async settled(): Promise<void> {
    for (const { busy } of this.#instances) await busy;
  }

  /** Frees the graphs, whose runs must be over, and releases the kernels. */
  free(): void {
    for (const instance of this.#instances.splice(0)) this.#freeInstance(instance);
    for (const ptx of this.#kernels.keys()) this.#device.releaseKernel(ptx);
  }

  /** Queues a run on the device. */
  #submit(instance: Instance, run: StagedRun): void {
    const device = this.#device;
    if (instance.upload !== undefined) {
      const { handle } = instance.upload;
      if (run.dims.length > 0) device.call((driver) => driver.writePinned(handle, 0, bytesOf(new Uint32Array(run.dims))));
      for (const [name, data] of run.host) {
        const place = this.plan.inputs.get(name);
        if (place !== undefined && data.length > 0) device.call((driver) => driver.writePinned(handle, place.offset, bytesOf(data)));
      }
      device.counters.uploads++;
    }
    device.call((driver) => driver.launchGraph(instance.graph));
    device.counters.submits++;
    if (instance.readback !== undefined) device.counters.readbacks++;
    run.afterLaunch();
  }

  async #results(instance: Instance): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>> {
    await this.#device.finished();
    return this.#read(instance);
  }

  /** Returns the outputs of a run that is over, each from its place to the end of the block. */
  #read({ readback }: Instance): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
    const block = new ArrayBuffer(readback?.bytes ?? 0);
    if (readback !== undefined) this.#device.driver.readPinned(readback.handle, 0, new Uint8Array(block));
    return new Map(this.#hostOutputs.map(([name, { offset }]) => [name, new Uint8Array(block, offset)]));
  }

  async #acquire(): Promise<Instance> {
    const free = this.#instances.find(({ busy }) => busy === undefined);
    if (free !== undefined) return free;
    if (this.#instances.length < maxInstances) return this.#newInstance();
    // The first is the oldest: instances are used in turn.
    const oldest = this.#instances.shift()!;
    this.#instances.push(oldest);
    await oldest.busy;
    oldest.busy = undefined;
    return oldest;
  }

  #newInstance(): Instance {
    const instance = this.#record();
    this.#instances.push(instance);
    return instance;
  }

  #freeInstance({ graph, upload, readback }: Instance): void {
    freeGraph(this.#device, graph);
    upload?.free();
    readback?.free();
  }

  /** Records the graph; with a timer before each step, as `stepOf` counts them, and one after the last. */
  #record({ timers, stepOf }: Timing = untimed): Instance {
    const device = this.#device;
    const { uploadBytes, readbackBytes, launches, copies } = this.plan;
    const address = this.#addressOf;
    const upload = uploadBytes === 0 ? undefined : device.allocPinned(uploadBytes);
    const readback = readbackBytes === 0 ? undefined : device.allocPinned(readbackBytes);
    try {
      const graph = device.capture((launchKernel, driver) => {
        if (upload !== undefined) driver.copyToDevice(address({ region: { kind: "upload" }, offset: 0 }), upload.handle, uploadBytes);
        let timed = 0;
        const recordTimers = (end: number): void => {
          for (const timer of timers.slice(timed, end)) driver.recordTimer(timer);
          timed = end;
        };
        for (const placed of launches) {
          const { launch, args } = placed;
          recordTimers(stepOf(placed) + 1);
          const { ptx, grid, block, sharedBytes } = launch;
          launchKernel({ kernel: entryOf(this.#kernels, ptx), grid, block, sharedBytes, args: args.map(address), spans: args });
        }
        recordTimers(timers.length);
        for (const { from, to, bytes } of copies) if (bytes > 0) driver.copyOnDevice(address(to), address(from), bytes);
        if (readback !== undefined)
          driver.copyFromDevice(readback.handle, address({ region: { kind: "readback" }, offset: 0 }), readbackBytes);
      });
      return { graph, upload, readback, busy: undefined };
    } catch (error) {
      upload?.free();
      readback?.free();
      throw error;
    }
  }
}

/** A launch of each module's text. */
function distinctKernels({ launches }: VariantPlan): readonly VariantPlan["launches"][number][] {
  return [...new Map(launches.map((placed) => [placed.launch.ptx, placed])).values()];
}

function freeGraph(device: Device, graph: Handle): void {
  try {
    device.call((driver) => driver.freeGraph(graph));
  } catch {
    // The device is lost, and the graph with it.
  }
}
