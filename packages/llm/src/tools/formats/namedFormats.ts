import { type ArgumentSyntax, type CallSyntax, slots } from "./toolFormat.ts";

const anyId = "[A-Za-z0-9_.:-]{1,64}";
const json: ArgumentSyntax = { kind: "json", maxSpace: 1 };
const python: ArgumentSyntax = { kind: "notation", assign: "=", comma: ", ", end: ")", notation: "python" };

/** Calls as JSON objects `{"name": …, "arguments": …}` with text around them. */
function jsonCalls({ open, separator, close }: { readonly open: string; readonly separator: string; readonly close: string }): CallSyntax {
  const begin = '{"name": "';
  const tag = /^<[^<>]+>/.exec(open)?.[0];
  return {
    before: [open + begin],
    call: [slots.name, '", "arguments": ', slots.arguments],
    between: [`}${separator}${begin}`],
    after: `}${close}`,
    trigger: tag ?? open + begin,
    isTriggerAtStart: false,
    arguments: json,
    id: anyId,
    firstIndex: 0,
  };
}

/** Calls as a list of Python's. */
function pythonCalls({ open, close, prefix }: { readonly open: string; readonly close: string; readonly prefix?: string }): CallSyntax {
  return {
    before: [open],
    call: [slots.name, "(", slots.arguments],
    between: [", "],
    after: close,
    trigger: open === "[" ? open : open.slice(0, -1),
    isTriggerAtStart: open === "[",
    ...(prefix !== undefined && { prefix }),
    arguments: python,
    id: anyId,
    firstIndex: 0,
  };
}

/** Formats by their names. */
export const namedFormats: Readonly<Record<ToolFormatName, CallSyntax>> = {
  hermes: jsonCalls({ open: "<tool_call>\n", separator: "\n</tool_call>\n<tool_call>\n", close: "\n</tool_call>" }),
  granite: jsonCalls({ open: "<|tool_call|>[", separator: ", ", close: "]" }),
  "phi-4": jsonCalls({ open: "<|tool_call|>[", separator: ", ", close: "]<|/tool_call|>" }),
  lfm2: pythonCalls({ open: "<|tool_call_start|>[", close: "]<|tool_call_end|>" }),
  "llama-4": pythonCalls({ open: "[", close: "]", prefix: "<|python_start|>" }),
  harmony: {
    before: ["to=functions."],
    call: [slots.name, "<|channel|>commentary json<|message|>", slots.arguments],
    after: "<|call|>",
    trigger: "to=functions.",
    isTriggerAtStart: true,
    arguments: json,
    id: anyId,
    firstIndex: 0,
  },
};

/** Names of formats that are not found by rendering a template. */
export type ToolFormatName = "hermes" | "granite" | "phi-4" | "lfm2" | "llama-4" | "harmony";

/** Texts of templates that say which format their models were trained on, where the template itself writes no calls. The first one counts. */
export const mentions: readonly (readonly [mention: string, name: ToolFormatName])[] = [
  ["<|channel|>", "harmony"],
  ["<|tool_list_start|>", "lfm2"],
  ["List of tools: [", "lfm2"],
  ["followed by a JSON list of tools", "granite"],
  ["<|tool|>", "phi-4"],
  ["<|python_start|>", "llama-4"],
];

/** Texts that may precede calls, by texts of templates that say so. */
export const prefixes: readonly (readonly [mention: string, prefix: string])[] = [["ipython", "<|python_tag|>"]];
