/** How long the page waits for an interaction before it downloads what is not needed yet, in ms. */
const patienceMs = 10_000;

/**
 * Keeps the page for times without a network. That downloads all of it, so it waits for the first interaction, or a while. Without service
 * workers, as in some private windows, the page works as well.
 */
export function keepOffline(): void {
  if (import.meta.env.DEV || !("serviceWorker" in navigator)) return;
  const wait = new AbortController();
  const start = (): void => {
    wait.abort();
    clearTimeout(timer);
    navigator.serviceWorker
      .register(new URL("serviceWorker.js", document.baseURI), { scope: "./" })
      .catch((error: unknown) => console.warn("The page is not available offline:", error));
  };
  for (const type of ["pointerdown", "keydown"]) addEventListener(type, start, { signal: wait.signal });
  const timer = setTimeout(start, patienceMs);
}
