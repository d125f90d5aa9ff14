import * as z from "zod/mini";

/** Name of a model. The tag `latest` may be left out. */
export const modelField: z.ZodMiniString = z.string().check(z.minLength(1));

/** The name without the tag that means nothing. */
export function modelName(name: string): string {
  return name.replace(/:latest$/, "");
}
