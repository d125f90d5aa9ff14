import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { checkLooks, fill, modelReady, shareProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";

/** Lets the model call the tool, and returns the tool's result. */
async function run(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByTestId("tool-result").waitFor();
  const result = await page.getByTestId("tool-result").textContent();
  // What the model makes of it does not matter here. It may have ended by itself.
  await page
    .getByRole("button", { name: "Stop" })
    .click({ timeout: 500 })
    .catch(() => undefined);
  await page.getByRole("button", { name: "Run", exact: true }).waitFor();
  return result ?? "";
}

async function resultOf(page: Page, code: string): Promise<string> {
  await fill(page.getByLabel("Code"), code);
  return run(page);
}

export function describeTools(setting: () => Setting): void {
  describe("Tools", () => {
    test("runs what the user writes apart from the page, and shows calls and results", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("tools?backend=wasm");
      await modelReady(page);
      // A tool's time limit of two seconds may be over before its worker starts on a slow machine. At first, the sandbox has no time limit.
      const sandbox = page.frameLocator("iframe[title=tools]").locator("script");
      await sandbox.evaluate("void Object.assign(globalThis, { startTimer: setTimeout, setTimeout: () => 0 })");
      const { rolls, sum } = JSON.parse(await run(page));
      await page.getByRole("heading", { name: "Call of roll_dice" }).waitFor();
      expect(sum).toBe(rolls.reduce((a: number, b: number) => a + b, 0));
      // Without arguments, the model writes each call in less time.
      await fill(page.getByLabel("JSON Schema"), '{ "type": "object", "additionalProperties": false }');
      // A long result is wrapped: nothing that scrolls is out of the keyboard's reach.
      expect(await resultOf(page, "function run() { return 'x'.repeat(300) }")).toContain("xxx");
      await checkLooks(page, "tools");

      expect(await resultOf(page, "function run() { throw new Error('no dice') }")).toContain("no dice");
      // Firefox does not say what is wrong with the script of a worker.
      expect(await resultOf(page, "function run( {")).toMatch(/SyntaxError|Unexpected|no JavaScript/);
      expect(await resultOf(page, "async function run() { await fetch('https://example.com/') }")).toMatch(/fetch|network/i);
      expect(await resultOf(page, "function run() { return [typeof document, self.origin] }")).toBe('["undefined","null"]');
      await sandbox.evaluate("void (setTimeout = startTimer)");
      expect(await resultOf(page, "function run() { for (;;); }")).toContain("2000 ms");
      // The refused request is the one problem.
      expect(profile.problems.filter((problem) => !problem.includes("https://example.com/"))).toEqual([]);
    });
  });
}
