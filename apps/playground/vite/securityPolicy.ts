import { createHash } from "node:crypto";
import type { Plugin } from "vite";
import { frameScript } from "../src/tools/frameScript.ts";

/**
 * What the page may load. Scripts come from its own files; the one inline script is that of the frame in which tools run, named by its hash.
 * Models come from any server.
 */
function policy(): string {
  const hash = createHash("sha256").update(frameScript).digest("base64");
  return [
    "default-src 'none'",
    `script-src 'self' 'wasm-unsafe-eval' 'sha256-${hash}'`,
    // Threads start from blobs, and the workers of tools from data.
    "worker-src 'self' blob: data:",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self' blob: https: http://localhost:* http://127.0.0.1:*",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** Writes the policy into the built page. Vite's development server needs inline scripts, so that it has none. */
export function securityPolicy(): Plugin {
  return {
    name: "security policy",
    apply: "build",
    transformIndexHtml: () => [
      { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: policy() }, injectTo: "head-prepend" },
    ],
  };
}
