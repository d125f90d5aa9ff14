interface NodeTimers {
  setImmediate?: (callback: () => void) => unknown;
}

/** Lets the event loop run once, so that timers, messages and aborts are handled. Awaiting a resolved promise would not do that. */
export function yieldToEventLoop(): Promise<void> {
  const { setImmediate } = globalThis as NodeTimers;
  if (setImmediate !== undefined) return new Promise((resolve) => setImmediate(resolve));
  // Browsers delay nested timers by 4 ms but deliver a message at once.
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
