/**
 * How a model writes calls of tools: data from which the grammar, the parser and, for templates that do not render calls, the writer are
 * made. A turn with calls is `before`, the pieces of the first call, for each further call `between` and its pieces, and `after`.
 */
export interface ToolFormat {
  /** Name of the format, `"detected"` if it was found by rendering the template. */
  readonly name: string;
  /** One sentence on how the format was found. */
  readonly reason: string;
  /** Text that begins a turn with calls, up to the first slot of the first call. White space before it does not count. */
  readonly before: Pieces;
  /** One call, from its first slot to its last. */
  readonly call: Pieces;
  /** Text between the last slot of a call and the first slot of the next. Absent: one call a turn. */
  readonly between?: Pieces;
  /** Text after the last slot of the last call. */
  readonly after: string;
  /** Text after which only a call may follow. `before` begins with it. */
  readonly trigger: string;
  /** Whether the trigger counts only at the beginning of the answer, since ordinary text may contain it. */
  readonly isTriggerAtStart: boolean;
  /** Text that precedes an answer without calls, such as `<|content|>`. It is no part of the answer. */
  readonly answer?: string;
  /** Text at the end of the prompt with which `before` or `answer` begin already. */
  readonly opened?: string;
  /** Text that may precede `before`, such as `<|python_tag|>`. */
  readonly prefix?: string;
  /** How arguments are written. */
  readonly arguments: ArgumentSyntax;
  /** What an id of a call matches, as a regular expression. */
  readonly id: string;
  /** Number of the first call, where calls are numbered. */
  readonly firstIndex: number;
  /** What the chat template does with calls, tools and results. */
  readonly template: TemplateSupport;
}

/** Texts, and slots for what differs from call to call. */
export type Pieces = readonly (string | Slot)[];

/** A part of a call. `name` may occur twice, the second one repeats the first. */
export interface Slot {
  readonly slot: "name" | "id" | "index" | "arguments";
}

/**
 * How arguments are written:
 * - "json": as a JSON object.
 * - "tagged": each argument between markup with its name, texts without quotation marks.
 * - "notation": as keys and values in the notation of Python's keyword arguments or of Gemma.
 */
export type ArgumentSyntax = JsonSyntax | TaggedSyntax | NotationSyntax;

/** Arguments as a JSON object. */
export interface JsonSyntax {
  readonly kind: "json";
  /** Most characters of white space in one place: 1, or what the template indents by. Models would fill more room. */
  readonly maxSpace: number;
}

/** Arguments between markup, such as `<parameter=NAME>VALUE</parameter>`. */
export interface TaggedSyntax {
  readonly kind: "tagged";
  /** Text before the first name. A call without arguments does not have it. */
  readonly first: string;
  /** Text between the name and the value, by the type of the value. */
  readonly open: Readonly<Record<ValueType, string>>;
  /** Text that ends the value. */
  readonly close: string;
  /** Text between the end of a value and the next name. */
  readonly next: string;
  /** Whether the name is repeated at the beginning of `close`, as in `<NAME>VALUE</NAME>`: the text before that repetition. */
  readonly closeBefore?: string;
  /** Whether booleans and null are written as Python writes them. */
  readonly isPython: boolean;
  /** Whether texts with markup are written as CDATA sections of XML. */
  readonly hasCdata: boolean;
}

/** Arguments as keys and values. */
export interface NotationSyntax {
  readonly kind: "notation";
  /** Text between key and value of an argument. */
  readonly assign: string;
  /** Text between arguments. */
  readonly comma: string;
  /** Text that ends the arguments. */
  readonly end: string;
  readonly notation: "python" | "gemma";
}

/** Types of JSON values. */
export type ValueType = "string" | "number" | "boolean" | "null" | "array" | "object";

/** What a chat template does with calls, tools and results. */
export interface TemplateSupport {
  /** How the template takes the arguments of a call: as an object, or as JSON text. "none": it renders no calls, so they become content. */
  readonly calls: "object" | "text" | "none";
  /** What the template wants as the content of a message that has calls alone. */
  readonly content: "" | null;
  /** Whether the template renders content before calls. Otherwise it leaves out one of the two. */
  readonly rendersContent: boolean;
  /** The variable that the template reads tools from. Undefined: none, so tools are described in a system message. */
  readonly tools: string | undefined;
  /** Whether the template renders messages with the role `tool`. Otherwise results become user messages. */
  readonly results: boolean;
}

/** The part of a format that says how calls are written. */
export type CallSyntax = Omit<ToolFormat, "name" | "reason" | "template">;

/** Slots, for descriptions of formats. */
export const slots: { readonly name: Slot; readonly id: Slot; readonly index: Slot; readonly arguments: Slot } = {
  name: { slot: "name" },
  id: { slot: "id" },
  index: { slot: "index" },
  arguments: { slot: "arguments" },
};
