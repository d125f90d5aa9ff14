import { expect, test } from "vitest";
import { z } from "zod";
import { runExample, tiny } from "../../test/runExample.ts";

const Order = z.strictObject({
  customer: z.string().min(1).max(30),
  priority: z.enum(["low", "normal", "urgent"]),
  items: z
    .array(z.strictObject({ product: z.string().min(1).max(30), quantity: z.int().min(1).max(99) }))
    .min(1)
    .max(3),
});

test("each e-mail gives one valid order", async () => {
  const lines = (await runExample("structured-extraction", ["node", "main.ts", tiny])).trimEnd().split("\n");
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(Order.safeParse(JSON.parse(line)).error).toBeUndefined();
});
