import type { AnswerFormat } from "../format/answerFormat.ts";
import type { GenerationFinish } from "./generationParts.ts";

/** The finish with a value that the validation library of the format's schema, if it comes from one, has validated. */
export async function validatedFinish(finish: GenerationFinish, format: AnswerFormat | undefined): Promise<GenerationFinish> {
  if (finish.value === undefined || typeof format !== "object" || !("schema" in format)) return finish;
  const { validated } = await import("../format/standardSchema.ts");
  const { value, ...rest } = finish;
  return { ...rest, ...(await validated(format.schema, value)) };
}
