import type { QuantizableType } from "@centella/quant";
import { check, oneOf, string } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { type FileType, fileTypeByName } from "../fileTypes.ts";

/** Mix of types that a file is quantised to, by llama.cpp's name. */
export type Recipe =
  | "F32"
  | "F16"
  | "BF16"
  | "Q4_0"
  | "Q4_1"
  | "Q5_0"
  | "Q5_1"
  | "Q8_0"
  | "Q2_K"
  | "Q2_K_S"
  | "Q3_K_S"
  | "Q3_K_M"
  | "Q3_K_L"
  | "Q4_K_S"
  | "Q4_K_M"
  | "Q5_K_S"
  | "Q5_K_M"
  | "Q6_K"
  | "IQ4_NL"
  | "IQ4_XS";

/** The type that most tensors of a recipe get. Source: `llama_ftype_get_default_type` of llama-quant.cpp. */
const baseTypes: Readonly<Record<Recipe, QuantizableType>> = {
  F32: "f32",
  F16: "f16",
  BF16: "bf16",
  Q4_0: "q4_0",
  Q4_1: "q4_1",
  Q5_0: "q5_0",
  Q5_1: "q5_1",
  Q8_0: "q8_0",
  Q2_K: "q2_K",
  Q2_K_S: "q2_K",
  Q3_K_S: "q3_K",
  Q3_K_M: "q3_K",
  Q3_K_L: "q3_K",
  Q4_K_S: "q4_K",
  Q4_K_M: "q4_K",
  Q5_K_S: "q5_K",
  Q5_K_M: "q5_K",
  Q6_K: "q6_K",
  IQ4_NL: "iq4_nl",
  IQ4_XS: "iq4_xs",
};

/** Every recipe, from the exact ones to the smallest blocks. */
export const recipes: readonly Recipe[] = Object.keys(baseTypes).filter(isRecipe);

/** Short names that llama.cpp takes too. */
const aliases: ReadonlyMap<string, Recipe> = new Map([
  ["Q3_K", "Q3_K_M"],
  ["Q4_K", "Q4_K_M"],
  ["Q5_K", "Q5_K_M"],
]);

function isRecipe(name: string): name is Recipe {
  return Object.hasOwn(baseTypes, name);
}

/** The recipe of a name in capitals or not, `Q4_K` standing for `Q4_K_M`. @throws {GgufError} `unsupported-type` */
export function recipeOf(name: string): Recipe {
  check("recipeOf", "name", name, string);
  const upper = name.toUpperCase();
  const recipe = aliases.get(upper) ?? upper;
  if (isRecipe(recipe)) return recipe;
  const got = fileTypeByName(upper) === undefined ? `'${name}'` : `${upper}, which is read but not written`;
  throw new GgufError("unsupported-type", { expected: `one of ${recipes.join(", ")}`, got });
}

export function baseTypeOf(recipe: Recipe): QuantizableType {
  check("quantize", "recipe", recipe, oneOf(...recipes));
  return baseTypes[recipe];
}

/** Number of the recipe in `general.file_type`. */
export function fileTypeOf(recipe: Recipe): FileType {
  return fileTypeByName(recipe)!;
}
