import { detect } from "@centella/backend-wasm";
import { freeBytes } from "../model/readPlan.ts";
import { text } from "../text/english.ts";
import { formatBytes, formatCount } from "../ui/format.ts";

/** Something that the browser offers or not, and what follows from it. */
export interface Capability {
  readonly name: string;
  readonly value: string;
  readonly isGood: boolean;
  readonly consequence: string;
}

const { about, common } = text;

function yesOrNo(name: keyof typeof about.features, isThere: boolean): Capability {
  const { label, yes, no } = about.features[name];
  return { name: label, value: isThere ? common.yes : common.no, isGood: isThere, consequence: isThere ? yes : no };
}

/** What this browser offers to models. */
export async function capabilities(): Promise<readonly Capability[]> {
  const { simd, relaxed, sharedMemory, memory64 } = detect();
  const free = await freeBytes();
  const isPersistent = (await navigator.storage?.persisted?.().catch(() => false)) ?? false;
  return [
    { name: about.cores, value: formatCount(navigator.hardwareConcurrency), isGood: true, consequence: about.coresMean(sharedMemory) },
    yesOrNo("isolation", globalThis.crossOriginIsolated),
    yesOrNo("threads", sharedMemory),
    yesOrNo("simd", simd),
    yesOrNo("relaxed", relaxed),
    yesOrNo("memory64", memory64),
    yesOrNo("webgpu", (await adapter()) !== undefined),
    yesOrNo("storage", (await hasStorage()) === true),
    {
      name: about.free,
      value: free === undefined ? about.unknown : formatBytes(free),
      isGood: free !== undefined,
      consequence: about.freeMeans,
    },
    yesOrNo("persistent", isPersistent),
    yesOrNo("offline", navigator.serviceWorker?.controller != null),
  ];
}

/** A limit or feature of the GPU. */
export type GpuFact = readonly [name: string, value: string];

/** The GPU that WebGPU offers, if any: its names, features, and the limits that models meet. */
export async function gpuFacts(): Promise<readonly GpuFact[] | undefined> {
  const found = await adapter();
  if (found === undefined) return undefined;
  const { info, features, limits } = found;
  const names = [info.vendor, info.architecture, info.device, info.description].filter((name) => name !== "");
  return [
    [about.gpu.name, names.join(" ")],
    ["maxBufferSize", formatBytes(limits.maxBufferSize)],
    ["maxStorageBufferBindingSize", formatBytes(limits.maxStorageBufferBindingSize)],
    ["maxComputeWorkgroupStorageSize", formatBytes(limits.maxComputeWorkgroupStorageSize)],
    ["maxComputeInvocationsPerWorkgroup", formatCount(limits.maxComputeInvocationsPerWorkgroup)],
    [about.gpu.features, [...features].sort().join(", ")],
  ];
}

async function adapter(): Promise<GPUAdapter | undefined> {
  return (await navigator.gpu?.requestAdapter().catch(() => null)) ?? undefined;
}

async function hasStorage(): Promise<boolean> {
  return navigator.storage?.getDirectory().then(
    () => true,
    () => false,
  );
}
