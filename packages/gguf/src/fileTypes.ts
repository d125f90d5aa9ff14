import { check, number } from "@centella/quant/checks";
/** A recipe of quantisation, as `general.file_type` numbers it. */
export interface FileType {
  readonly id: number;
  /** Name that tools take and file names carry, `Q4_K_M`. */
  readonly name: string;
  /** Name that llama.cpp prints, `Q4_K - Medium`. */
  readonly label: string;
}

type Entry = readonly [name: string, label: string];

/**
 * Source: `enum llama_ftype` of llama.h, `llama_model_ftype_name` of llama-model-loader.cpp. Numbers that are missing have been withdrawn.
 */
const fileTypes: Readonly<Record<number, Entry>> = {
  0: ["F32", "all F32"],
  1: ["F16", "F16"],
  2: ["Q4_0", "Q4_0"],
  3: ["Q4_1", "Q4_1"],
  7: ["Q8_0", "Q8_0"],
  8: ["Q5_0", "Q5_0"],
  9: ["Q5_1", "Q5_1"],
  10: ["Q2_K", "Q2_K - Medium"],
  11: ["Q3_K_S", "Q3_K - Small"],
  12: ["Q3_K_M", "Q3_K - Medium"],
  13: ["Q3_K_L", "Q3_K - Large"],
  14: ["Q4_K_S", "Q4_K - Small"],
  15: ["Q4_K_M", "Q4_K - Medium"],
  16: ["Q5_K_S", "Q5_K - Small"],
  17: ["Q5_K_M", "Q5_K - Medium"],
  18: ["Q6_K", "Q6_K"],
  19: ["IQ2_XXS", "IQ2_XXS - 2.0625 bpw"],
  20: ["IQ2_XS", "IQ2_XS - 2.3125 bpw"],
  21: ["Q2_K_S", "Q2_K - Small"],
  22: ["IQ3_XS", "IQ3_XS - 3.3 bpw"],
  23: ["IQ3_XXS", "IQ3_XXS - 3.0625 bpw"],
  24: ["IQ1_S", "IQ1_S - 1.5625 bpw"],
  25: ["IQ4_NL", "IQ4_NL - 4.5 bpw"],
  26: ["IQ3_S", "IQ3_S - 3.4375 bpw"],
  27: ["IQ3_M", "IQ3_S mix - 3.66 bpw"],
  28: ["IQ2_S", "IQ2_S - 2.5 bpw"],
  29: ["IQ2_M", "IQ2_M - 2.7 bpw"],
  30: ["IQ4_XS", "IQ4_XS - 4.25 bpw"],
  31: ["IQ1_M", "IQ1_M - 1.75 bpw"],
  32: ["BF16", "BF16"],
  36: ["TQ1_0", "TQ1_0 - 1.69 bpw ternary"],
  37: ["TQ2_0", "TQ2_0 - 2.06 bpw ternary"],
  38: ["MXFP4_MOE", "MXFP4 MoE"],
  39: ["NVFP4", "NVFP4"],
  40: ["Q1_0", "Q1_0"],
  41: ["Q2_0", "Q2_0"],
};

/** The recipe of this number, or undefined where llama.cpp has none. */
export function fileTypeById(id: number): FileType | undefined {
  check("fileTypeById", "id", id, number);
  const entry = fileTypes[id];
  return entry === undefined ? undefined : fileTypeOf(id, entry);
}

/** The recipe of this name (`Q4_K_M`), or undefined where llama.cpp has none. */
export function fileTypeByName(name: string): FileType | undefined {
  const found = Object.entries(fileTypes).find(([, [known]]) => known === name);
  return found === undefined ? undefined : fileTypeOf(Number(found[0]), found[1]);
}

function fileTypeOf(id: number, [name, label]: Entry): FileType {
  return { id, name, label };
}
