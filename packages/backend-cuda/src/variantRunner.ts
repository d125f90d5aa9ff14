import type { TypedArray } from "@centella/core";
import type { Device, PinnedBlock } from "./device.ts";
import { bytesOf } from "./deviceTensor.ts";
import type { Handle } from "./driver.ts";
import type { Place, VariantPlan } from "./variant.ts";

/** Addresses of a plan's pieces of memory. */
export type AddressOf = (place: Place) => Handle;

// With two, the host prepares a run while the device works on the one before.
const maxInstances = 2;

/** A recorded graph with the page-locked blocks that its copies are bound to. Serves one run at a time. */
interface Instance {
  readonly graph: Handle;
  readonly upload: PinnedBlock | undefined;
  readonly readback: PinnedBlock | undefined;
  /** Settles when the run that uses it is over. */
  busy: Promise<unknown> | undefined;
}

/** What a run gives to its variant. */
export interface StagedRun {
  /** Values of the symbolic dims, in the program's order. */
  readonly dims: readonly number[];
  /** Inputs in resident form, by name. */
  readonly host: ReadonlyMap<string, TypedArray>;
  /** Queues what must follow the graph before the next run may overwrite its memory. */
  afterLaunch(): void;
}

/** Replays one variant: one upload, one submission, one readback per run. */
export class VariantRunner {
  readonly plan: VariantPlan;
  readonly #device: Device;
  readonly #addressOf: AddressOf;
  readonly #kernels: ReadonlyMap<string, Handle>;
  readonly #instances: Instance[] = [];

  private constructor(device: Device, plan: VariantPlan, addressOf: AddressOf, kernels: ReadonlyMap<string, Handle>) {
    this.#device = device;
    this.plan = plan;
    this.#addressOf = addressOf;
    this.#kernels = kernels;
  }

  /** Compiles the variant's kernels. @throws {KernelError} */
  static async create(device: Device, plan: VariantPlan, addressOf: AddressOf): Promise<VariantRunner> {
    const kernels = new Map<string, Handle>();
    const texts = new Map(plan.launches.map((placed) => [placed.launch.ptx, placed]));
    const loads = [...texts.values()].map(async ({ op, launch: { ptx, entry, sharedBytes } }) => {
      kernels.set(ptx, await device.kernel(op, ptx, entry, sharedBytes));
    });
    const failed = (await Promise.allSettled(loads)).find((load) => load.status === "rejected");
    const runner = new VariantRunner(device, plan, addressOf, kernels);
    if (failed === undefined) return runner;
    await runner.dispose();
    throw failed.reason;
  }

  /** Starts a run. Resolves when it is queued on the device; the completion gives the host outputs' bytes, by name. */
  async start(run: StagedRun): Promise<{ readonly completion: Promise<ReadonlyMap<string, Uint8Array>> }> {
    const device = this.#device;
    const instance = await this.#acquire();
    if (instance.upload !== undefined) {
      const { handle } = instance.upload;
      if (run.dims.length > 0) device.call((driver) => driver.writePinned(handle, 0, bytesOf(Uint32Array.from(run.dims))));
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
    const completion = device.track(this.#results(instance));
    instance.busy = completion.catch(() => undefined);
    return { completion };
  }

  /** Frees the graphs, once their runs are over, and lets go of the kernels. */
  async dispose(): Promise<void> {
    for (const { graph, upload, readback, busy } of this.#instances.splice(0)) {
      await busy;
      freeGraph(this.#device, graph);
      upload?.free();
      readback?.free();
    }
    for (const ptx of this.#kernels.keys()) await this.#device.releaseKernel(ptx);
  }

  async #results({ readback }: Instance): Promise<ReadonlyMap<string, Uint8Array>> {
    const device = this.#device;
    await device.finished();
    const results = new Map<string, Uint8Array>();
    const places = [...this.plan.outputs].filter(([, place]) => place.region.kind === "readback");
    places.forEach(([name, { offset }], i) => {
      const end = places[i + 1]?.[1].offset ?? readback?.bytes ?? 0;
      const data = new Uint8Array(end - offset);
      if (readback !== undefined && data.length > 0) device.driver.readPinned(readback.handle, offset, data);
      results.set(name, data);
    });
    return results;
  }

  async #acquire(): Promise<Instance> {
    const free = this.#instances.find(({ busy }) => busy === undefined);
    if (free !== undefined) return free;
    if (this.#instances.length < maxInstances) {
      const instance = this.#record();
      this.#instances.push(instance);
      return instance;
    }
    // The first is the oldest: instances are used in turn.
    const oldest = this.#instances.shift()!;
    this.#instances.push(oldest);
    await oldest.busy;
    oldest.busy = undefined;
    return oldest;
  }

  #record(): Instance {
    const device = this.#device;
    const { uploadBytes, readbackBytes, launches, copies } = this.plan;
    const address = this.#addressOf;
    const upload = uploadBytes === 0 ? undefined : device.allocPinned(uploadBytes);
    const readback = readbackBytes === 0 ? undefined : device.allocPinned(readbackBytes);
    try {
      const graph = device.capture((launchKernel, driver) => {
        if (upload !== undefined) driver.copyToDevice(address({ region: { kind: "upload" }, offset: 0 }), upload.handle, uploadBytes);
        for (const { launch, args } of launches) {
          const { ptx, grid, block, sharedBytes } = launch;
          launchKernel({ kernel: this.#kernels.get(ptx)!, grid, block, sharedBytes, args: args.map(address) });
        }
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

function freeGraph(device: Device, graph: Handle): void {
  try {
    device.call((driver) => driver.freeGraph(graph));
  } catch {
    // The device is lost, and the graph with it.
  }
}
