import { GgufError } from "../errors.ts";

/** What this package uses of Node. */
interface NodeModules {
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

/** A module of Node, or undefined elsewhere. Not imported: bundlers for pages follow imports, and webpack refuses Node's names. */
export function nodeModule<N extends keyof NodeModules>(name: N): NodeModules[N] | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?<M extends keyof NodeModules>(name: M): NodeModules[M] } };
  return process?.getBuiltinModule?.(name);
}

/** The same where it is needed. @throws {GgufError} `io` where there is no Node */
export function requireNodeModule<N extends keyof NodeModules>(name: N, path: string): NodeModules[N] {
  const found = nodeModule(name);
  if (found !== undefined) return found;
  throw new GgufError("io", { expected: `a URL, a Blob or bytes instead of '${path}'`, got: "no file system; paths are for Node" });
}

/** Node's `process`, where {@link requireNodeModule} has found Node. */
export function nodeProcess(): NodeProcess {
  return (globalThis as { readonly process?: NodeProcess }).process!;
}
