import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { appFolder } from "../receipts/store.ts";
import { Skip } from "../runner/subject.ts";

/** Separate workspace, because all peers together are larger than the rest and only `pnpm bench peers install` needs them. */
export const peersFolder: string = join(appFolder, "peers");

/** Folder of an installed peer. @throws {Skip} if it is not installed */
export function peerPackage(name: string): string {
  const folder = join(peersFolder, "node_modules", name);
  if (!existsSync(folder)) throw new Skip("not installed; run pnpm bench peers install");
  return folder;
}

/** Version of an installed peer. @throws {Skip} if it is not installed */
export function peerVersion(name: string): string {
  const manifest = JSON.parse(readFileSync(join(peerPackage(name), "package.json"), "utf8")) as { readonly version: string };
  return manifest.version;
}

/** Imports an installed peer. @throws {Skip} if it is not installed */
export async function loadPeer(specifier: string): Promise<unknown> {
  const [scope, name] = specifier.split("/");
  peerPackage(specifier.startsWith("@") ? `${scope}/${name}` : scope!);
  // A module in that folder imports it, because a bare specifier is resolved from the importing file.
  const { load } = (await import(pathToFileURL(join(peersFolder, "load.mjs")).href)) as {
    readonly load: (specifier: string) => Promise<unknown>;
  };
  return load(specifier);
}
