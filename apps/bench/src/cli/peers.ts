import { spawnSync } from "node:child_process";
import { peersFolder } from "../peers/load.ts";
import { UsageError } from "../usageError.ts";
import { parse } from "./options.ts";

/** `pnpm bench peers install` */
export async function peersCommand(args: readonly string[]): Promise<number> {
  const { positionals } = parse(args, {});
  if (positionals.join(" ") !== "install") throw new UsageError(`peers: expected install, got ${positionals.join(" ") || "nothing"}`);
  // onnxruntime-node's install script would fetch CUDA libraries from elsewhere; all other scripts are off anyway.
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: "skip" };
  const { status, error } = spawnSync("pnpm", ["install", "--frozen-lockfile", "--prefer-offline"], {
    cwd: peersFolder,
    env,
    stdio: "inherit",
  });
  if (error !== undefined) console.error(`peers: cannot run pnpm: ${error.message}`);
  return status ?? 1;
}
