import { blockLayout, type GgmlType, isBlockType, isGgmlType, type QuantizableType } from "@centella/quant";
import { boolean, check, checkOptions, entryOf, isRecord, kind, lastOf, listOf, whole } from "@centella/quant/checks";
import { baseTypeOf, type Recipe } from "./recipes.ts";
import { isConverted, roleOf, type TensorRole } from "./tensorRoles.ts";

/** Properties of a model that the types of a mix depend on, apart from its tensors. */
export interface MixModel {
  readonly architecture: string;
  readonly layers: number;
  /** Query heads that share one head of keys and values; 0 where the first layer has none. */
  readonly headsPerKv: number;
  /** 0 without experts. */
  readonly experts: number;
}

export interface MixTensor {
  readonly name: string;
  readonly type: GgmlType;
  /** Row-major. */
  readonly shape: readonly number[];
}

export interface MixOptions {
  /** The base type for every tensor instead of a mix. Default false. */
  readonly pure?: boolean;
  /** Mixes spend their bits a little otherwise where an importance matrix is at hand. Default false. */
  readonly hasImatrix?: boolean;
}

/** Position of a tensor among the tensors of its kind. */
interface Place {
  readonly role: TensorRole;
  /** Values and projections down are counted in the order of the file that is written. */
  readonly index: number;
  readonly count: number;
}

type TypeRule = (place: Place, model: MixModel, hasImatrix: boolean) => QuantizableType | undefined;

/** The first and last eighth of the layers, and every third between. Source: `use_more_bits` of llama-quant.cpp. */
function hasMoreBits({ index, count }: Place): boolean {
  const eighth = Math.floor(count / 8);
  return index < eighth || index >= Math.floor((7 * count) / 8) || (index - eighth) % 3 === 2;
}

const isEarly = ({ index, count }: Place, share: number): boolean => index < Math.floor(count / share);
const isFalcon = ({ architecture }: MixModel): boolean => architecture === "falcon";

/** Types of attention values where they differ from the base. */
const valueTypes: Readonly<Partial<Record<Recipe, TypeRule>>> = {
  Q2_K: (_, { headsPerKv }) => (headsPerKv >= 4 ? "q4_K" : "q3_K"),
  Q2_K_S: (_, { headsPerKv }) => (headsPerKv >= 4 ? "q4_K" : undefined),
  Q3_K_M: ({ index }) => (index < 2 ? "q5_K" : "q4_K"),
  Q3_K_L: () => "q5_K",
  Q4_K_S: ({ index }) => (index < 4 ? "q5_K" : undefined),
  Q4_K_M: (place) => (hasMoreBits(place) ? "q6_K" : undefined),
  Q5_K_M: (place) => (hasMoreBits(place) ? "q6_K" : undefined),
  IQ4_NL: (_, { headsPerKv }) => (headsPerKv >= 4 ? "q5_K" : undefined),
  IQ4_XS: (_, { headsPerKv }) => (headsPerKv >= 4 ? "q5_K" : undefined),
};

const earlyQ5_K: TypeRule = (place, _, hasImatrix) => (isEarly(place, 8) && !hasImatrix ? "q5_K" : undefined);

/** Types of the feed-forward's projection down. */
const downTypes: Readonly<Partial<Record<Recipe, TypeRule>>> = {
  Q2_K: () => "q3_K",
  Q2_K_S: (place) => (isEarly(place, 8) ? "q4_K" : undefined),
  Q3_K_M: (place, model) => (isEarly(place, 16) ? "q5_K" : !isFalcon(model) || hasMoreBits(place) ? "q4_K" : undefined),
  Q3_K_L: (_, model) => (isFalcon(model) ? "q4_K" : "q5_K"),
  Q4_K_S: (place, model) => (!isFalcon(model) && isEarly(place, 8) ? "q5_K" : undefined),
  Q4_K_M: (place, model) => {
    if (!isFalcon(model)) return hasMoreBits(place) ? "q6_K" : undefined;
    return isEarly(place, 16) ? "q6_K" : hasMoreBits(place) ? "q5_K" : undefined;
  },
  Q5_K_M: (place) => (hasMoreBits(place) ? "q6_K" : undefined),
  Q4_0: (place, _, hasImatrix) => (isEarly(place, 8) && hasImatrix ? "q4_1" : undefined),
  Q5_0: (place, _, hasImatrix) => (isEarly(place, 8) && hasImatrix ? "q5_1" : undefined),
  IQ4_NL: earlyQ5_K,
  IQ4_XS: earlyQ5_K,
};

const attentionOutputTypes: Readonly<Partial<Record<Recipe, QuantizableType>>> = { Q2_K: "q3_K", Q3_K_M: "q4_K", Q3_K_L: "q5_K" };

/** Recipes that give a model of eight experts finer attention outputs. */
const expertOutputs: ReadonlySet<Recipe> = new Set(["Q2_K", "Q3_K_S", "Q3_K_M", "Q4_K_S", "Q4_K_M", "IQ4_NL", "IQ4_XS"]);

/** Layer counts of the models that llama.cpp calls 70B. For llama, heads must also be shared. Source: `llama-model.cpp`. */
const layersOf70B: Readonly<Record<string, number>> = { llama: 80, qwen2: 80, deci: 80, jais2: 68 };

function is70B({ architecture, layers, headsPerKv }: MixModel): boolean {
  return layersOf70B[architecture] === layers && (architecture !== "llama" || headsPerKv !== 1);
}

/** The type that a tensor should get, whatever the length of its rows. */
function wantedType(recipe: Recipe, place: Place, model: MixModel, hasImatrix: boolean): QuantizableType | undefined {
  const hasEightExperts = model.experts === 8;
  switch (place.role) {
    case "attention-value": {
      if (hasEightExperts) return "q8_0";
      const type = valueTypes[recipe]?.(place, model, hasImatrix) ?? baseTypeOf(recipe);
      return is70B(model) && (type === "q3_K" || type === "q4_K") ? "q5_K" : type;
    }
    case "attention-key":
      return hasEightExperts ? "q8_0" : undefined;
    case "attention-output":
      if (isFalcon(model)) return recipe === "Q3_K_L" ? "q4_K" : undefined;
      if (hasEightExperts) return expertOutputs.has(recipe) ? "q5_K" : undefined;
      return attentionOutputTypes[recipe];
    case "down":
      return downTypes[recipe]?.(place, model, hasImatrix);
    default:
      return undefined;
  }
}

/** The output matrix, which is the embedding too where there is no other. */
function outputType(base: QuantizableType, model: MixModel, columns: number): QuantizableType {
  if (isFalcon(model) || columns % blockLayout(base).blockElements !== 0) return "q8_0";
  return base === "q8_0" ? base : "q6_K";
}

/** Types of blocks of 32 for rows that are no multiple of 256. Source: `tensor_type_fallback` of llama-quant.cpp. */
const narrower: Readonly<Partial<Record<QuantizableType, QuantizableType>>> = {
  q2_K: "q4_0",
  q3_K: "q4_0",
  q4_K: "q5_0",
  q5_K: "q5_1",
  q6_K: "q8_0",
  iq4_xs: "iq4_nl",
};

function fitting(type: QuantizableType, columns: number): QuantizableType {
  const fits = (candidate: QuantizableType): boolean => columns % blockLayout(candidate).blockElements === 0;
  if (fits(type)) return type;
  const fallback = narrower[type];
  // llama-quantize gives up here where the type itself has blocks of 32; f16 is what it falls back to for the others.
  return fallback !== undefined && fits(fallback) ? fallback : "f16";
}

const sizes = listOf("sizes", whole(0));
const mixModel = kind(
  "a model { architecture, layers, headsPerKv, experts }",
  (value) =>
    isRecord(value) &&
    typeof value.architecture === "string" &&
    [value.layers, value.headsPerKv, value.experts].every((count) => whole(0).accepts(count)),
);
const mixTensors = listOf(
  "tensors { name, type, shape }",
  kind(
    "a tensor",
    (value) => isRecord(value) && typeof value.name === "string" && isGgmlType(value.type as string) && sizes.accepts(value.shape),
  ),
);

/**
 * Returns the type that llama-quantize chooses for each tensor, in the order of `tensors`. Tensors that are not converted keep their
 * type. Source: `llama_tensor_get_type` of llama-quant.cpp.
 */
export function tensorTypes(recipe: Recipe, model: MixModel, tensors: readonly MixTensor[], options: MixOptions = {}): readonly GgmlType[] {
  const { pure = false, hasImatrix = false } = checkOptions("tensorTypes", options, { pure: boolean, hasImatrix: boolean });
  check("tensorTypes", "model", model, mixModel);
  check("tensorTypes", "tensors", tensors, mixTensors);
  const base = baseTypeOf(recipe);
  const isTied = !tensors.some(({ name }) => roleOf(name) === "output");
  const values = tensors.filter(({ name }) => roleOf(name) === "attention-value").length;
  const types = new Map<MixTensor, GgmlType>();
  const seen = { "attention-value": 0, down: 0 };
  for (const tensor of inWritingOrder(tensors)) {
    const { name, shape } = tensor;
    if (!isConverted(name, shape)) {
      types.set(tensor, tensor.type);
      continue;
    }
    const columns = lastOf(shape);
    const role = roleOf(name);
    if (!isBlockType(base)) {
      types.set(tensor, base);
    } else if (pure) {
      types.set(tensor, fitting(base, columns));
    } else if (role === "output" || (role === "embedding" && isTied)) {
      types.set(tensor, fitting(outputType(base, model, columns), columns));
    } else {
      const counted = role === "attention-value" || role === "down" ? seen[role]++ : 0;
      // Expert matrices of a layer are in any order in the file, so the number in their name counts.
      const index = role === "down" && model.experts > 1 ? (layerOf(name) ?? counted) : counted;
      const place = { role, index, count: role === "down" ? model.layers : values };
      types.set(tensor, fitting(wantedType(recipe, place, model, hasImatrix) ?? base, columns));
    }
  }
  return tensors.map((tensor) => entryOf(types, tensor));
}

function layerOf(name: string): number | undefined {
  const match = /^blk\.(\d+)/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

/** The order in which llama.cpp writes tensors: first tensors without a layer, then layer by layer, by name within a layer. */
export function inWritingOrder<T extends { readonly name: string }>(tensors: readonly T[]): readonly T[] {
  const layer = ({ name }: T): number => layerOf(name) ?? -1;
  return [...tensors].sort((a, b) => layer(a) - layer(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
