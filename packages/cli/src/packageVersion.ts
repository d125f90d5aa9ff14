import { createRequire } from "node:module";

/** The version of this package. */
export function packageVersion(): string {
  const manifest: { version: string } = createRequire(import.meta.url)("@centella/cli/package.json");
  return manifest.version;
}
