/** What the driver compiles for a launch. */
export interface KernelText {
  readonly ptx: string;
  /** Dynamic shared memory that the text needs. */
  readonly sharedBytes: number;
  /** Whether the kernel may read what it writes. */
  readonly readsOutputs: boolean;
}

/** Texts of one call at any bucket of the program's dims. Variants differ in few of them. */
export interface CallTexts {
  /** The text with this key, written if it is not known. */
  textOf(key: string, write: () => KernelText): KernelText;
}

/** What a text depends on besides its call, apart from the bucket: sizes that were derived from the bucket. */
export type TextForm = readonly (string | number | boolean | object)[];

/** A form as a part of keys. Objects count by their numbers, strings and booleans; the call determines what else they hold. */
export function formKey(form: TextForm): string {
  return form.map((part) => (typeof part === "object" ? scalarsOf(part) : part)).join(";");
}

function scalarsOf(sizes: object): string {
  return Object.entries(sizes)
    .filter(([, value]) => typeof value !== "object" && typeof value !== "function")
    .join(":");
}
