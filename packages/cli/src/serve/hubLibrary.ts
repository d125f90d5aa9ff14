import { defaultStorage, pull, removeModel } from "@centella/gguf";
import type { ModelLibrary } from "@centella/server";
import { type Loading, loaderOf } from "./servedModels.ts";

/** References of the hub: a repository with a quantisation or a file. No URL or path has this form. */
const reference = /^hf:[\w.-]+\/[\w.-]+(@[\w.-]+)?(:[\w.-]+|(\/[\w-][\w.-]*)+\.gguf)?$/;

/** Milliseconds without a request after which a pulled model is unloaded, unless the command line says otherwise. */
const defaultIdleMs = 300_000;

/** Models of the hub that requests may pull. */
export function hubLibrary(loading: Loading): ModelLibrary {
  // Adapters of the command line are not for models of other architectures.
  const idling = { ...loading, idleMs: loading.idleMs ?? defaultIdleMs, everywhere: [] };
  return {
    form: "hf:owner/repo:Q4_K_M",
    nameOf(given) {
      // Ollama's spelling of the same.
      const name = given.replace(/^(hf\.co|huggingface\.co)\//, "hf:");
      return reference.test(name) && !name.includes("..") ? name : undefined;
    },
    async pull(name, { signal, onProgress }) {
      await pull(name, { signal, onProgress: ({ done, total }) => onProgress(done, total) });
    },
    loader: (name) => loaderOf({ file: name, isLazy: true }, idling),
    async remove(name) {
      await removeModel(await defaultStorage(), name);
    },
  };
}
