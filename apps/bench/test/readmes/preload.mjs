// Preloaded where a README's program runs in Node: the host that its snippets were written for.
import { register } from "node:module";

/** Requests to hosts that READMEs name go to a server of the test; no other machine is reached. */
const standIns = ["example.com", "example.org", "huggingface.co"];
const { fetch } = globalThis;
globalThis.fetch = (input, init) => {
  const { host, hostname, pathname, search } = new URL(input instanceof Request ? input.url : input);
  if (hostname === "127.0.0.1") return fetch(input, init);
  if (!standIns.includes(host)) throw new Error(`no stand-in for ${host}`);
  return fetch(new URL(pathname + search, process.env.README_SERVER), init);
};

/** Imports of WebAssembly give the module, as workers at the edge of a CDN have it. */
const hooks = `
  export async function load(url, context, next) {
    if (!url.endsWith(".wasm")) return next(url, context);
    const source = 'import { readFileSync } from "node:fs";'
      + "export default new WebAssembly.Module(readFileSync(new URL(import.meta.url)));";
    return { format: "module", shortCircuit: true, source };
  }
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
