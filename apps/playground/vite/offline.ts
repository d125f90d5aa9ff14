import { createHash } from "node:crypto";
import type { Plugin } from "vite";

/** The place in the service worker's script where the list of files goes. */
const placeholder = "__FILES__";

/**
 * Builds the service worker, and tells it the files of the page. Models are not among them: the engine stores those. The list has a hash of
 * all files, so that a browser notices a new version.
 */
export function offline(): Plugin {
  return {
    name: "offline",
    apply: "build",
    buildStart() {
      this.emitFile({ type: "chunk", id: "src/offline/serviceWorker.ts", fileName: "serviceWorker.js" });
    },
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        const worker = bundle["serviceWorker.js"];
        if (worker?.type !== "chunk" || !worker.code.includes(placeholder))
          this.error("offline: expected the service worker's script with a placeholder");
        const files = Object.keys(bundle).filter((name) => name !== "serviceWorker.js" && !name.endsWith(".gguf"));
        const version = createHash("sha256");
        for (const name of files) {
          const file = bundle[name];
          version.update(name).update(file?.type === "chunk" ? file.code : (file?.source ?? ""));
        }
        const names = ["./", "icon.svg", "manifest.webmanifest", ...files.filter((name) => name !== "index.html")];
        worker.code = worker.code.replace(placeholder, () => JSON.stringify({ version: version.digest("hex").slice(0, 16), names }));
      },
    },
  };
}
