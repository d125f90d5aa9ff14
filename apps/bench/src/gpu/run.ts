import { type Backend, type BackendFactory, UnsupportedError } from "@centella/core";
import { digits } from "../receipts/derive.ts";
import { type MeasuredRow, measureRows, normalSettings, quickSettings } from "../runner/measure.ts";
import { Skip } from "../runner/subject.ts";
import { median, type Passes } from "../stats/bootstrap.ts";
import { attentionKernels } from "./attention.ts";
import { columnKernels } from "./columns.ts";
import { convolutionKernels } from "./convolutions.ts";
import { copyKernels } from "./copies.ts";
import { ceilingOf, type DeviceCeiling, type DeviceCopies, floorOf } from "./floor.ts";
import { hostRows } from "./host.ts";
import type { GpuKernel, KernelGroup, ModeOf, Scale } from "./kernel.ts";
import { type LayerResult, measureLayers } from "./layer.ts";
import { type PreparedKernel, prepareKernel, WrongResult } from "./measureKernel.ts";
import { type ModelChoice, type ModelResult, measureModels } from "./models.ts";
import { expertKernels, productKernels } from "./products.ts";
import { memoryKernels, samplingKernels } from "./rows.ts";
import type { TorchPeer } from "./torch.ts";

/** Groups of kernels in the order in which they are measured. */
export const kernelGroups: readonly KernelGroup[] = ["products", "memory", "convolution", "attention", "sampling"];

/** Number of turns of ours and of the peer. */
const turns = 2;

/** What to measure on a backend. */
export interface GpuRun {
  readonly factory: BackendFactory;
  readonly groups: readonly KernelGroup[];
  /** Whether a whole layer is compared with the reference. */
  readonly hasLayer: boolean;
  /** Whether calls from the host, with their transfers, are measured. */
  readonly hasHost: boolean;
  /** Undefined if no model is measured. */
  readonly models: ModelChoice | undefined;
  /** Samples of each kernel and of each test of a model. */
  readonly samples: number;
  readonly copies: DeviceCopies;
  /** PyTorch on the same device. */
  readonly peer: TorchPeer | undefined;
  /** Whether the time is over. What is left then is skipped. */
  readonly isOver: () => boolean;
  readonly log: (line: string) => void;
}

/** A kernel's times, or why there are none. */
export interface KernelResult {
  readonly group: KernelGroup;
  readonly name: string;
  readonly bytes: number;
  readonly flops: number;
  /** Least seconds of a call on this device. */
  readonly floor: number;
  /** Of one call, on the device alone, by turns. */
  readonly seconds?: Passes;
  /** Calls in each run, on operands of their own. */
  readonly calls?: number;
  readonly peerSeconds?: Passes;
  readonly peerSkipped?: string;
  readonly skipped?: string;
  readonly failed?: string;
}

/** All that was measured on a backend, or why it was not opened. */
export interface GpuResult {
  readonly backend: string;
  readonly device?: string;
  readonly skipped?: string;
  readonly ceiling?: DeviceCeiling;
  readonly kernels: readonly KernelResult[];
  readonly layers: readonly LayerResult[];
  readonly host: readonly MeasuredRow[];
  readonly models: readonly ModelResult[];
}

/** Measures a backend: kernels, a layer, then calls from the host, then models. */
export async function runGpu(run: GpuRun): Promise<GpuResult> {
  const { factory, groups, hasLayer, hasHost, samples, isOver, log } = run;
  const none = { backend: factory.name, kernels: [], layers: [], host: [], models: [] };
  let backend: Backend;
  try {
    backend = await factory.open();
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    return { ...none, skipped: error.reason };
  }
  const scale = backend.device.kind === "gpu" ? "full" : "tiny";
  const device = backend.device.name;
  try {
    log(`${factory.name}: ${device}`);
    const ceiling = ceilingOf(device, run.copies);
    const kernels: KernelResult[] = [];
    for (const kernel of kernelsOf(backend, scale, groups)) kernels.push(await measureKernel(backend, kernel, ceiling, run));
    const layers = hasLayer ? await measureLayers(backend, { scale, modeOf: modesOf(backend), isOver, log }) : [];
    const settings = scale === "full" ? normalSettings : quickSettings;
    const host = hasHost && !isOver() ? await measureRows(hostRows(backend, scale), settings, (_done, _total, { id }) => log(id)) : [];
    await backend.dispose();
    const models: ModelResult[] = [];
    if (run.models !== undefined) {
      for await (const result of measureModels(factory, { ...run.models, scale, repetitions: samples, isOver })) {
        log(`${result.model}: ${result.failed ?? result.skipped ?? "done"}`);
        models.push(result);
      }
    }
    return { backend: factory.name, device, ceiling, kernels, layers, host, models };
  } finally {
    await backend.dispose();
  }
}

function modesOf(backend: Backend): ModeOf {
  return (weights) => backend.preferredActivations?.(weights) ?? "f32";
}

function kernelsOf(backend: Backend, scale: Scale, groups: readonly KernelGroup[]): readonly GpuKernel[] {
  const modeOf = modesOf(backend);
  const byGroup: Readonly<Record<KernelGroup, readonly GpuKernel[]>> = {
    products: [...productKernels(scale, modeOf), ...expertKernels(scale, modeOf)],
    memory: [...memoryKernels(scale), ...columnKernels(scale), ...copyKernels(scale)],
    convolution: convolutionKernels(scale),
    attention: attentionKernels(scale, modeOf),
    sampling: samplingKernels(scale),
  };
  return groups.flatMap((group) => byGroup[group]);
}

async function measureKernel(backend: Backend, kernel: GpuKernel, ceiling: DeviceCeiling, run: GpuRun): Promise<KernelResult> {
  const { group, name, bytes, flops } = kernel;
  const floor = floorOf(kernel, ceiling);
  const about = { group, name, bytes, flops, floor };
  if (run.isOver()) return { ...about, skipped: "the time was over" };
  let prepared: PreparedKernel | undefined;
  try {
    prepared = await prepareKernel(backend, kernel, floor);
    const seconds: number[][] = [];
    const peers: PeerTimes[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const taken = await prepared.times(Math.ceil(run.samples / turns));
      seconds.push(taken.map(digits));
      peers.push(await peerTimes(kernel, run.peer, taken.length));
    }
    run.log(`${name}: ${(1e6 * median(seconds.flat())).toFixed(1)} µs`);
    const peerSkipped = peers.find(({ skipped }) => skipped !== undefined)?.skipped;
    const peerSeconds = peers.flatMap((peer) => (peer.seconds === undefined ? [] : [peer.seconds]));
    return {
      ...about,
      seconds,
      calls: prepared.calls,
      ...(peerSkipped === undefined ? peerSeconds.length > 0 && { peerSeconds } : { peerSkipped }),
    };
  } catch (error) {
    if (error instanceof UnsupportedError) return { ...about, skipped: error.reason };
    run.log(`${name}: ${String(error)}`);
    return { ...about, failed: error instanceof WrongResult ? `wrong result: ${error.message}` : String(error) };
  } finally {
    prepared?.dispose();
    await backend.idle();
  }
}

interface PeerTimes {
  readonly seconds?: readonly number[];
  readonly skipped?: string;
}

async function peerTimes({ peer: task }: GpuKernel, peer: TorchPeer | undefined, samples: number): Promise<PeerTimes> {
  if (task === undefined || peer === undefined) return {};
  try {
    return { seconds: (await peer.time(task, samples)).map(digits) };
  } catch (error) {
    if (error instanceof Skip) return { skipped: error.message };
    throw error;
  }
}
