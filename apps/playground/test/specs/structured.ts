import { describe, expect, test } from "vitest";
import { checkLooks, fill, shareProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";

export function describeStructured(setting: () => Setting): void {
  describe("Structured", () => {
    test("writes a value under a schema, and shows what was allowed at each token", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("structured?backend=wasm");
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("Complete: the value is valid").waitFor();
      const hero = JSON.parse((await page.getByTestId("value").textContent()) ?? "");
      expect(Object.keys(hero)).toEqual(["name", "kind", "age", "virtues"]);
      expect(["fox", "owl", "dragon", "princess", "miller"]).toContain(hero.kind);
      const tokens = page.locator("ol button");
      await tokens.first().click();
      expect(await page.getByTestId("allowed").textContent()).toMatch(/^\d+ tokens? allowed · the model gave the chosen one [\d.]+ %/);
      await checkLooks(page, "structured");

      await fill(page.getByLabel("JSON Schema"), '{ "type": "string", "pattern": "(?=a)b" }');
      await page.getByRole("button", { name: "Generate" }).click();
      expect(await page.getByRole("alert").textContent()).toContain("pattern");
      await fill(page.getByLabel("JSON Schema"), "{");
      await page.getByRole("button", { name: "Generate" }).click();
      expect(await page.getByRole("alert").textContent()).toContain("JSON");
      await page.getByRole("button", { name: "Choice" }).click();
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("Complete: the value is valid").waitFor();
      expect(["yes", "no", "perhaps"]).toContain(JSON.parse((await page.getByTestId("value").textContent()) ?? ""));
      expect(profile.problems).toEqual([]);
    });
  });
}
