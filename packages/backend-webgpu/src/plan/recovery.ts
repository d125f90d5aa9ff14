import { UnsupportedError } from "@centella/core";
import type { KernelTable } from "@centella/gpu-kernels";
import type { Capabilities } from "../device/capabilities.ts";
import type { OpenDevice } from "../device/device.ts";
import { DeviceQueue } from "../device/queue.ts";
import type { Kernel } from "../kernels/shared/kernel.ts";
import type { Tuning } from "../tuning/tuning.ts";
import { compileProgram } from "./compile.ts";
import type { WebgpuPersistentBuffer } from "./persistentBuffer.ts";
import type { PlanParts, WebgpuPlan } from "./plan.ts";

/**
 * Opens a device in place of a lost one, and moves the plans to it. The plans change once all of them are compiled and loaded.
 * @throws {UnsupportedError} if the device is gone or another one; the errors of compiling and of the weights' sources
 */
export async function reopen(
  lost: DeviceQueue,
  open: () => Promise<OpenDevice>,
  kernels: KernelTable<Kernel>,
  plans: ReadonlySet<WebgpuPlan>,
  tuning: Tuning | undefined,
): Promise<DeviceQueue> {
  // A source may still be writing to mapped memory, which ends with the device.
  await lost.order.idle();
  lost.dispose();
  const opened = await open();
  const queue = new DeviceQueue(opened, lost.counters);
  try {
    requireSame(lost.capabilities, opened);
    const moved: (readonly [WebgpuPlan, PlanParts])[] = [];
    const buffers = new Set([...plans].flatMap((plan) => [...plan.persistents.values()]));
    for (const buffer of buffers) await queue.guard(buffer.moveTo(queue));
    for (const plan of plans) {
      const persistents = new Map<string, WebgpuPersistentBuffer>(plan.persistents);
      moved.push([plan, await queue.guard(compileProgram(queue, kernels, plan.source, persistents, { tuning }))]);
    }
    for (const [plan, parts] of moved) plan.moveTo(queue, parts);
    return queue;
  } catch (error) {
    queue.dispose();
    throw error;
  }
}

/** @throws {UnsupportedError} if kernels were generated for another device */
function requireSame(expected: Capabilities, { info, capabilities }: OpenDevice): void {
  if (JSON.stringify(capabilities) === JSON.stringify(expected)) return;
  throw new UnsupportedError("recover", `the device is now ${info.name}, with other features; open the backend again and compile again`);
}
