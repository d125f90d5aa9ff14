import { describe, expect, test } from "vitest";
import { checkLooks, fill, shareProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";

export function describeTokens(setting: () => Setting): void {
  describe("Tokens", () => {
    test("shows tokens, their probabilities as a heat map, and the rendered chat template", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("tokens?backend=wasm");
      await fill(page.getByLabel("Text", { exact: true }), "Once upon a time <|end|>");
      await page.getByText(/^[1-9]\d* tokens for 24 characters$/).waitFor();
      const plain = Number.parseInt((await page.getByTestId("token-count").textContent()) ?? "", 10);
      await page.getByLabel(/Read special tokens/).check();
      await expect.poll(async () => Number.parseInt((await page.getByTestId("token-count").textContent()) ?? "", 10)).toBeLessThan(plain);
      await fill(page.getByLabel("Text", { exact: true }), "Once upon a time there was a zyzzyva.");
      await page.getByText(/for 37 characters/).waitFor();
      await page.getByRole("button", { name: "Compute probabilities" }).click();
      await page.getByText(/^Perplexity of the text: [\d.]+$/).waitFor();
      const time = page.getByTestId("heat").getByRole("button", { name: /^·time/ });
      expect(await time.getAttribute("title"), "after Once upon a").toMatch(/^9\d\.\d\d %/);
      expect(await page.getByTestId("rendered").textContent()).toContain("<|user|>");
      await checkLooks(page, "tokens");
      await fill(page.getByLabel("Messages, as JSON"), "[{}]");
      await page.getByRole("alert").waitFor();
      expect(profile.problems).toEqual([]);
    });
  });
}
