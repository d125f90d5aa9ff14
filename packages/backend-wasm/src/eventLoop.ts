/** How long work may hold the thread before timers, sockets and signals get their turn. */
export const sliceMs = 10;

/** Resolves after the event loop has served what was waiting. Timers would wait 1 to 4 ms more. */
export function yieldToEventLoop(): Promise<void> {
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
