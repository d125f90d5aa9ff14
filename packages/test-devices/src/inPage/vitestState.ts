// Vitest's assertions ask the worker that runs them for its state. In a page there is none, so this is imported before them.
Object.assign(globalThis, {
  __vitest_worker__: { filepath: "page", config: { snapshotOptions: {} }, providedContext: {} },
  process: { env: {} },
});
