import { UnsupportedError } from "@centella/core";
import { elementAt, type StepTime } from "@centella/core/backend";
import { createBuffer } from "../device/buffers.ts";
import type { DeviceQueue } from "../device/queue.ts";
import { mapRead, usage } from "../device/usage.ts";
import { encodeDispatches, type ReadyDispatch } from "./variant.ts";

/** Most timestamps of a query set, by the specification. */
const maxQueries = 4096;
const timestampBytes = 8;

/** @throws {UnsupportedError} if passes of the device have no timestamps */
export function requireTimestamps({ device, name }: DeviceQueue): void {
  if (device.features.has("timestamp-query")) return;
  const reason = `${name} has no feature "timestamp-query"; use another browser or driver, or time whole runs with a clock`;
  throw new UnsupportedError("profile", reason);
}

/**
 * Submits what an encoder has recorded, and dispatches with a compute pass for each of `steps` steps, or with one pass if there is no number of
 * steps. The result resolves with the time of each pass.
 */
export function submitTimed(
  queue: DeviceQueue,
  encoder: GPUCommandEncoder,
  dispatches: readonly ReadyDispatch[],
  steps: number | undefined,
): () => Promise<readonly StepTime[]> {
  const groups = new Map<number, ReadyDispatch[]>();
  for (const dispatch of dispatches) {
    const step = steps === undefined ? 0 : dispatch.step;
    const group = groups.get(step);
    if (group === undefined) groups.set(step, [dispatch]);
    else group.push(dispatch);
  }
  const timed = [...groups.values()];
  const timestamps = new Timestamps(queue, 2 * timed.length);
  for (const [i, group] of timed.entries()) {
    const pass = encoder.beginComputePass({ timestampWrites: timestamps.pair(2 * i) });
    encodeDispatches(pass, group);
    pass.end();
  }
  timestamps.resolve(encoder);
  queue.submit(encoder);
  return async () => {
    const nanoseconds = await queue.guard(timestamps.read());
    const times: StepTime[] = Array.from({ length: steps ?? 1 }, () => ({ microseconds: 0, launches: 0 }));
    for (const [i, [step, group]] of [...groups].entries()) {
      const elapsed = Number(elementAt(nanoseconds, 2 * i + 1) - elementAt(nanoseconds, 2 * i));
      // Timestamps may run backwards where the device's clock is reset.
      times[step] = { microseconds: Math.max(0, elapsed) / 1000, launches: group.length };
    }
    return times;
  };
}

/** An even number of timestamps, in as many query sets as they need. */
class Timestamps {
  readonly #sets: readonly GPUQuerySet[];
  readonly #counts: readonly number[];
  readonly #resolved: GPUBuffer;
  readonly #staging: GPUBuffer;

  constructor(queue: DeviceQueue, count: number) {
    this.#counts = Array.from({ length: Math.ceil(count / maxQueries) }, (_, i) => Math.min(maxQueries, count - i * maxQueries));
    this.#sets = this.#counts.map((each) => queue.device.createQuerySet({ type: "timestamp", count: each }));
    this.#resolved = createBuffer(queue, count * timestampBytes, usage.queryResolve | usage.copySource);
    this.#staging = createBuffer(queue, count * timestampBytes, usage.mapRead | usage.copyTarget);
  }

  /** Has a pass write timestamps `first` and `first + 1`. */
  pair(first: number): GPUComputePassTimestampWrites {
    const querySet = elementAt(this.#sets, Math.floor(first / maxQueries));
    const at = first % maxQueries;
    return { querySet, beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 };
  }

  resolve(encoder: GPUCommandEncoder): void {
    for (const [i, set] of this.#sets.entries())
      encoder.resolveQuerySet(set, 0, elementAt(this.#counts, i), this.#resolved, i * maxQueries * timestampBytes);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#staging, 0, this.#staging.size);
  }

  /** The timestamps in nanoseconds, after the submission. Frees everything. */
  async read(): Promise<BigUint64Array> {
    try {
      await this.#staging.mapAsync(mapRead);
      return new BigUint64Array(this.#staging.getMappedRange().slice(0));
    } finally {
      this.#staging.destroy();
      this.#resolved.destroy();
      for (const set of this.#sets) set.destroy();
    }
  }
}
