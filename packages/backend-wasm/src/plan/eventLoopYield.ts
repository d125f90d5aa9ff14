/** Maximum time that work holds the thread before timers, sockets and signals are served. */
const sliceMs = 10;

/** Yields to the event loop when one run, or many in a row, have held the thread for too long. */
export class EventLoopYield {
  #last = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#last > sliceMs;
  }

  async yield(): Promise<void> {
    await yieldToEventLoop();
    this.#last = performance.now();
  }
}

/** Resolves after the event loop has served pending work. Timers would add 1 to 4 ms. */
function yieldToEventLoop(): Promise<void> {
  const { setImmediate } = globalThis as { setImmediate?: (callback: () => void) => unknown };
  if (setImmediate !== undefined) return new Promise((resolve) => void setImmediate(resolve));
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
