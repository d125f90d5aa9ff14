import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { openExtension } from "../../test/openExtension.ts";
import { runExample, tiny } from "../../test/runExample.ts";

/** A whole Chromium, if there is one: headless shells do not run extensions. */
const chromium = [process.env.CHROMIUM, "/usr/bin/chromium"].find((path) => path !== undefined && existsSync(path));
const isRequired = process.env.REQUIRE_CHROMIUM !== undefined;

const profile = mkdtempSync(join(tmpdir(), "centella-extension-"));
afterAll(() => rmSync(profile, { recursive: true, force: true }));

beforeEach(({ skip }) => {
  if (chromium !== undefined) return;
  if (isRequired) throw new Error("expected a Chromium that runs extensions in /usr/bin/chromium or at the path CHROMIUM, got none");
  skip("there is no Chromium that runs extensions: install it, or set CHROMIUM to its path");
});

test("the popup tells a story, and another one finds the model loaded", async () => {
  await runExample("chrome-extension", ["node", "build.ts", tiny]);
  await using extension = await openExtension(chromium!, "chrome-extension/dist", profile);
  const popup = await extension.openPage("popup.html");
  await popup.getByRole("button", { name: "Tell" }).click();
  await expect.poll(async () => (await popup.locator("article").textContent())!.length).toBeGreaterThan(100);
  expect(await popup.getByRole("status").textContent()).toMatch(/^(generating|ready) (wasm|webgpu)$/);
  await popup.close();
  const next = await extension.openPage("popup.html");
  await next
    .getByRole("status")
    .filter({ hasText: /^ready (wasm|webgpu)$/ })
    .waitFor();
});
