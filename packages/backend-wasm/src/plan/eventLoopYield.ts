/** How long work may hold the thread before timers, sockets and signals get their turn. */
const sliceMs = 10;

/** Gives the event loop its turn when work has held the thread for too long, in one run or in many that follow each other. */
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

/** Resolves after the event loop has served what was waiting. Timers would wait 1 to 4 ms more. */
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
