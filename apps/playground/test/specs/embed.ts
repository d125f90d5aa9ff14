import { describe, expect, test } from "vitest";
import { checkLooks, modelReady, shareProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";

export function describeEmbed(setting: () => Setting): void {
  describe("Embed", () => {
    test("compares texts, and ranks them by a question", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("embed?backend=wasm");
      await modelReady(page);
      await page.getByRole("button", { name: "Compare" }).click();
      const cells = page.getByRole("table").locator("tbody td");
      await cells.first().waitFor();
      expect(await cells.count()).toBe(16);
      expect(await cells.first().textContent()).toBe("1.00");
      await page.getByRole("button", { name: "Rank", exact: true }).click();
      await page.getByText("This model is no reranker").waitFor();
      expect(await page.getByTestId("ranking").locator("li").count()).toBe(4);
      await checkLooks(page, "embed");
      expect(profile.problems).toEqual([]);
    });
  });
}
