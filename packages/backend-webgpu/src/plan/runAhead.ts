import type { DeviceQueue } from "../device/queue.ts";
import { leastHeldBytes } from "../device/readbacks.ts";
import { type Parts, RecordedRun } from "./submitRun.ts";
import { firstPart, submissionParts, type VariantRun } from "./variant.ts";

/**
 * Records the first part of a plan's next run while the device computes one that repeats the run before it. Otherwise the host waits for the
 * device, and then the device for the host. The first part of a small run is all of it.
 */
export class RunAhead {
  #last: VariantRun | undefined;
  /** The parts of the last run, once it was repeated. */
  #parts: Parts | undefined;
  #recorded: RecordedRun | undefined;

  /** Returns the commands of a run if they are recorded, and drops those of any other run. */
  take(run: VariantRun): RecordedRun | undefined {
    const recorded = this.#recorded;
    this.#recorded = undefined;
    if (recorded?.run === run) return recorded;
    recorded?.drop();
    return undefined;
  }

  /** Call it once a run is submitted. Records nothing if other work is pending, because the device then need not wait for the host. */
  recordAfter(queue: DeviceQueue, run: VariantRun): void {
    if (this.#last !== run) {
      this.#last = run;
      this.#parts = undefined;
    } else if (queue.pending.size === 1) {
      this.#parts ??= partsAhead(run);
      if (this.#parts.length === 0) return;
      this.#recorded = new RecordedRun(queue, run, this.#parts);
      queue.pollAtOnce();
    }
  }

  drop(): void {
    this.#recorded?.drop();
    this.#recorded = undefined;
    this.#last = undefined;
    this.#parts = undefined;
  }
}

/**
 * Splits a run by its submissions, the first of which is recorded before the call. Returns no parts if the first one needs memory that is
 * known only at the call. The first part has a quarter of the dispatches: on an H200, a dispatch takes half the host's time, and the device
 * is busy for about a quarter of the run after the last submission.
 */
function partsAhead({ dispatches, inputs, outputs, readbacks }: VariantRun): Parts {
  if (inputs.mapped.length > 0 || inputs.device.length > 0) return [];
  const count = Math.max(firstPart, Math.floor(dispatches.length / 4));
  const first = dispatches.slice(0, count);
  if (first.some(({ bindTo }) => bindTo !== undefined)) return [];
  if (count < dispatches.length) return [first, ...submissionParts(dispatches.slice(count))];
  return readbacks.bytes < leastHeldBytes && outputs.every(({ to }) => to === "host") ? [first] : [];
}
