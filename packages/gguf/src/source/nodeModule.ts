import { GgufError } from "../errors.ts";

/** Modules of Node that this package uses. */
interface NodeModules {
  readonly "node:fs": typeof import("node:fs");
  readonly "node:fs/promises": typeof import("node:fs/promises");
  readonly "node:path": typeof import("node:path");
  readonly "node:url": typeof import("node:url");
  readonly "node:os": typeof import("node:os");
  readonly "node:crypto": typeof import("node:crypto");
}

interface NodeProcess {
  readonly pid: number;
  readonly platform: string;
  kill(pid: number, signal: 0): boolean;
}

/** Returns a module of Node, or undefined elsewhere. It is not imported because bundlers for pages follow imports, and webpack rejects `node:` names. */
export function nodeModule<N extends keyof NodeModules>(name: N): NodeModules[N] | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?<M extends keyof NodeModules>(name: M): NodeModules[M] } };
  return process?.getBuiltinModule?.(name);
}

/** Returns a module of Node. @throws {GgufError} `io` outside of Node */
export function requireNodeModule<N extends keyof NodeModules>(name: N, path: string): NodeModules[N] {
  const found = nodeModule(name);
  if (found !== undefined) return found;
  throw new GgufError("io", { expected: `a URL, a Blob or bytes instead of '${path}'`, got: "no file system; paths are for Node" });
}

/** Returns Node's `process`. Call {@link requireNodeModule} first. */
export function nodeProcess(): NodeProcess {
  return (globalThis as { readonly process?: NodeProcess }).process!;
}
