/** What {@link DawnPolling} takes of Node. Times are in milliseconds. */
export interface PollingClock {
  now(): number;
  /** Blocks the thread. */
  sleep(duration: number): void;
}

/** The interval between two polls, as a share of the time since the last activity: how much later than it could a result arrives. */
const share = 1 / 16;

/** Milliseconds: the longest interval, and that from which on a timer waits for the next poll. */
const longest = 20;
const leastTimer = 1;

/**
 * Milliseconds: the shortest wait that is slept through in part, what a sleep takes longer than asked for, and the longest sleep, because
 * events of the process wait for its end. Shorter waits turn the event loop: a thread that sleeps between short runs encodes them late.
 */
const leastSleep = 0.125;
const overslept = 0.06;
const longestSleep = 0.25;

/** The most polls within a call. A result that comes within these 5 µs need not wait for a turn of the event loop. */
const pollsInCall = 4;

/** What Node has beyond browsers. */
const host = globalThis as unknown as { setImmediate(callback: () => void): unknown };

const cell = new Int32Array(new SharedArrayBuffer(4));

const nodeClock: PollingClock = {
  now: () => performance.now(),
  sleep: (duration) => void Atomics.wait(cell, 0, 0, duration),
};

/**
 * Polls Dawn in Node: often just after a call that waits for the device, then ever more rarely. By itself Dawn polls in every turn of the event
 * loop while anything is pending. That keeps a core busy, and each poll is a new function with a finalizer: collecting them stops the process
 * for up to 0.2 s.
 *
 * Dawn passes its polls to `globalThis.setImmediate`, which {@link call} replaces while a call into Dawn is on the stack.
 */
export class DawnPolling {
  /** The instance of Dawn. It must not be collected while polls are due: they are calls of it. */
  readonly instance: object;
  readonly #clock: PollingClock;
  /** What Dawn asked to be called. */
  #due: (() => void)[] = [];
  #activeAt = 0;
  #nextAt = 0;
  #isScheduled = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(instance: object, clock: PollingClock = nodeClock) {
    this.instance = instance;
    this.#clock = clock;
  }

  /** Makes a call into Dawn whose result waits for the device. */
  call<T>(call: () => T): T {
    this.#activeAt = this.#clock.now();
    this.#nextAt = this.#activeAt;
    if (this.#timer !== undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#isScheduled = false;
    }
    return this.#capture(call);
  }

  /** Polls within the call, for a result that is due by now. */
  pollAtOnce(): void {
    for (let i = 0; i < pollsInCall && this.#due.length > 0; i++) this.#poll();
  }

  /** From now on polls for the results of a device, and of the buffers that it creates. */
  watch(device: GPUDevice): void {
    this.#watchCalls(device, ["popErrorScope", "createComputePipelineAsync"]);
    this.#watchCalls(device.queue, ["onSubmittedWorkDone"]);
    const createBuffer = device.createBuffer.bind(device);
    device.createBuffer = (descriptor) => {
      const buffer = createBuffer(descriptor);
      this.#watchCalls(buffer, ["mapAsync"]);
      return buffer;
    };
  }

  #watchCalls<T extends object>(target: T, names: readonly (keyof T)[]): void {
    for (const name of names) {
      const method = target[name] as (...args: unknown[]) => unknown;
      const watched = (...args: unknown[]): unknown => this.call(() => method.apply(target, args));
      target[name] = watched as T[typeof name];
    }
  }

  #capture<T>(call: () => T): T {
    const { setImmediate } = host;
    host.setImmediate = (callback) => void this.#due.push(callback);
    try {
      return call();
    } finally {
      host.setImmediate = setImmediate;
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#due.length === 0) return;
    this.#isScheduled = true;
    const wait = this.#nextAt - this.#clock.now();
    if (wait < leastTimer) host.setImmediate(this.#turn);
    else this.#timer = setTimeout(this.#turn, wait);
  }

  #poll(): void {
    const now = this.#clock.now();
    const due = this.#due;
    this.#due = [];
    this.#nextAt = now + Math.min(share * (now - this.#activeAt), longest);
    this.#capture(() => {
      for (const poll of due) poll();
    });
  }

  /** A turn of the event loop: waits for a moment, or polls. */
  readonly #turn = (): void => {
    this.#timer = undefined;
    this.#isScheduled = false;
    const wait = this.#nextAt - this.#clock.now();
    if (wait <= 0) this.#poll();
    else {
      if (wait > leastSleep) this.#clock.sleep(Math.min(wait - overslept, longestSleep));
      this.#schedule();
    }
  };
}
