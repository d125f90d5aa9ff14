import * as z from "zod/mini";

/** Most messages, or items, of a conversation. */
export const maxMessages = 10_000;

/** Ids of tokens. */
export const tokenIds: z.ZodMiniArray<z.ZodMiniNumber> = z.array(z.int().check(z.minimum(0))).check(z.minLength(1));

/** Maximum number of tokens of a text. Numbers from `min` to -1 are no limit. */
export function tokenLimit(min: -1 | -2): z.ZodMiniOptional<z.ZodMiniNumber> {
  return z.optional(
    z.int().check(
      z.minimum(min),
      z.refine((value) => value !== 0, { error: "expected at least 1, got 0" }),
    ),
  );
}

const stopString = z.string().check(z.minLength(1));

/** One or more strings that end a text. */
export const stopField: z.ZodMiniOptional<z.ZodMiniUnion<readonly [z.ZodMiniString, z.ZodMiniArray<z.ZodMiniString>]>> = z.optional(
  z.union([stopString, z.array(stopString)]),
);

/** The engine's option for {@link stopField}. */
export function stopOptions(stop: string | readonly string[] | undefined): { readonly stop?: readonly string[] } {
  return stop === undefined ? {} : { stop: typeof stop === "string" ? [stop] : stop };
}

/** The text of content that is a string, or parts with texts. */
export function textOf(content: string | readonly { readonly text: string }[]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}
