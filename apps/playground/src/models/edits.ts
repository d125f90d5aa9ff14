import { contentOf, type GgufFile, isNumericArray, type MetadataEntry, type ValueType, type WritableEntry } from "@centella/gguf";

/** Changes of metadata by their keys: a new value as text, or null to remove the key. */
export type Edits = Readonly<Record<string, string | null>>;

/** Most characters of an array that are shown. */
const maxShown = 200;

/** A value as text: what {@link edited} reads for values that are no arrays. */
export function shownValue({ type, value }: MetadataEntry): string {
  if (type === "f32") return shortest(value as number);
  if (typeof value !== "object") return String(value);
  const first = isNumericArray(value) ? Array.from(value.subarray(0, 20), String) : [...value].slice(0, 20);
  return `[${value.length}] ${first.join(", ")}`.slice(0, maxShown);
}

/** The shortest text of a 32-bit number that reads as the same number: 0.7, not 0.699999988079071. */
function shortest(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(value);
}

/** Content of the file with other metadata, for `writeGguf`. @throws {Error} for a text that is no value of its key's type */
export function editedContent(file: GgufFile, edits: Edits): ReturnType<typeof contentOf> {
  const content = contentOf(file);
  const metadata = content.metadata.flatMap((entry): readonly WritableEntry[] => {
    const edit = edits[entry.key];
    if (edit === undefined) return [entry];
    return edit === null ? [] : [{ ...entry, value: parsed(entry.key, entry.type, edit) }];
  });
  return { ...content, metadata };
}

function parsed(key: string, type: ValueType, text: string): number | bigint | boolean | string {
  if (type === "string") return text;
  if (type === "bool" && /^(true|false)$/.test(text)) return text === "true";
  if ((type === "u64" || type === "i64") && /^-?\d+$/.test(text)) return BigInt(text);
  const number = Number(text);
  if (type === "bool" || text.trim() === "" || Number.isNaN(number))
    throw new Error(`${key}: expected a value of type ${type}, got ${text}`);
  return number;
}
