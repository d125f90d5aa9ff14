import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The oldest Node that the packages run on, from npm: its executable, or the reason why it is not here. */
export function oldestNode(): { readonly path: string } | { readonly reason: string } {
  const { platform, arch } = process;
  if (platform !== "linux" || arch !== "x64")
    return { reason: `the package with Node 22.12 is for linux x64, this is ${platform} ${arch}` };
  try {
    return { path: join(dirname(createRequire(import.meta.url).resolve("node-22.12/package.json")), "bin/node") };
  } catch {
    return { reason: "the package with Node 22.12 is not installed" };
  }
}
