/** The embedded model with two million parameters, on the page's server. */
export const tiny: string = new URL("/model.gguf", location.href).href;

/** Starts a worker that serves models. */
export function startWorker(): Worker {
  return new Worker("/serving.js", { type: "module" });
}
