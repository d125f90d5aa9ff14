import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchChromiumProfile } from "@centella/test-devices";
import { UsageError } from "../usageError.ts";
import type { BrowserContext } from "./browser.ts";

/** A browser with a profile on disk: what pages store is not kept in memory, as in the private windows of tests. */
export interface Profile extends AsyncDisposable {
  readonly context: BrowserContext;
}

/** @throws {UsageError} where Chromium does not run */
export async function openProfile(): Promise<Profile> {
  const folder = mkdtempSync(join(tmpdir(), "profile-"));
  const context = await launchChromiumProfile(folder);
  if (typeof context === "string") throw new UsageError(context);
  return {
    context,
    async [Symbol.asyncDispose]() {
      await context.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
