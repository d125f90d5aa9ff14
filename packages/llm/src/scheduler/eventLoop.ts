interface Scheduling {
  setImmediate?: (callback: () => void) => unknown;
}

/** Lets the event loop run once: timers, messages and aborts get their turn. Promises alone would not let them. */
export function yieldToEventLoop(): Promise<void> {
  const { setImmediate } = globalThis as Scheduling;
  if (setImmediate !== undefined) return new Promise((resolve) => setImmediate(resolve));
  // Browsers hold nested timers back for 4 ms; a message is delivered at once.
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
