import { ArgumentError } from "@centella/core";
import { describe, isRecord } from "@centella/quant/checks";
import type { ChatTemplate } from "../../chat/chatTemplate.ts";
import { detectSyntax } from "./detectFormat.ts";
import { mentions, namedFormats, prefixes, type ToolFormatName } from "./namedFormats.ts";
import { type ProbeStyle, probeCall, TemplateProbe } from "./probe.ts";
import { type CallSyntax, slots, type TemplateSupport, type ToolFormat } from "./toolFormat.ts";

/** Formats that were found, by template. */
const found = new WeakMap<ChatTemplate, ToolFormat>();

/** Finds how a model writes calls: by rendering its template with calls, by what the template mentions, or a generic format. */
export function findFormat(template: ChatTemplate): ToolFormat {
  let format = found.get(template);
  if (format === undefined) {
    format = formatOf(template);
    found.set(template, format);
  }
  return format;
}

/** A format that was given, or the one of this name, for a template. @throws {ArgumentError} for a name that no format has */
export function givenFormat(template: ChatTemplate, name: ToolFormatName | ToolFormat): ToolFormat {
  if (typeof name !== "string") return checkedFormat(name);
  if (!Object.hasOwn(namedFormats, name)) throw new ArgumentError("toolFormat", Object.keys(namedFormats).join(", "), name);
  const { template: support } = findFormat(template);
  return { name, reason: "The format was given.", ...namedFormats[name], template: support };
}

/** @throws {ArgumentError} unless it is a description as {@link findFormat} returns it */
function checkedFormat(format: ToolFormat): ToolFormat {
  const { before, call, between = [], after, trigger, id, arguments: syntax, template } = format;
  const texts = isRecord(syntax) ? textsOf[syntax.kind] : undefined;
  const isWhole =
    [before, call, between].every((pieces) => Array.isArray(pieces) && pieces.every(isPiece)) &&
    [after, trigger, id].every((text) => typeof text === "string") &&
    // The kind alone is known: a user's format may lack any of the fields that the type promises.
    texts?.every((name) => typeof (syntax as unknown as Readonly<Record<string, unknown>>)[name] === "string") === true &&
    (syntax.kind !== "tagged" || (isRecord(syntax.open) && valueTypes.every((type) => typeof syntax.open[type] === "string"))) &&
    isRecord(template);
  if (!isWhole) throw new ArgumentError("toolFormat", "a name, or a description as model.toolFormat has it", describe(format));
  return format;
}

/** Texts that each kind of arguments has. */
const textsOf: Readonly<Record<string, readonly string[]>> = {
  json: [],
  tagged: ["first", "close", "next"],
  notation: ["assign", "comma", "end", "notation"],
};
const valueTypes = ["string", "number", "boolean", "null", "array", "object"] as const;

function isPiece(piece: unknown): boolean {
  return typeof piece === "string" || (isRecord(piece) && Object.hasOwn(slots, piece.slot as string));
}

function formatOf(template: ChatTemplate): ToolFormat {
  const probe = new TemplateProbe(template);
  const detected = detectSyntax(probe);
  const mentioned = mentions.find(([mention]) => template.source.includes(mention));
  if (detected !== undefined && mentioned?.[1] !== "harmony") {
    const { style, ...syntax } = detected;
    const prefix = prefixes.find(([mention]) => template.source.includes(mention))?.[1];
    return {
      name: "detected",
      reason: "The chat template writes calls like this.",
      ...syntax,
      ...(prefix !== undefined && syntax.isTriggerAtStart && { prefix }),
      template: supportOf(probe, style, true),
    };
  }
  const support = supportOf(probe, detected?.style ?? { args: "text", content: "" }, detected !== undefined);
  if (mentioned !== undefined) {
    const [mention, name] = mentioned;
    const reason = `The chat template mentions ${JSON.stringify(mention)}.`;
    return { name, reason, ...namedFormats[name], template: support };
  }
  const syntax: CallSyntax = namedFormats.hermes;
  const reason = "The chat template writes no calls, so they are JSON in <tool_call> tags.";
  return { name: "hermes", reason, ...syntax, template: support };
}

function supportOf(probe: TemplateProbe, style: ProbeStyle, rendersCalls: boolean): TemplateSupport {
  const call = probeCall(0, {});
  return {
    calls: rendersCalls ? style.args : "none",
    content: style.content,
    rendersContent: !rendersCalls || (probe.afterContent([call], style)?.includes(call.name) ?? false),
    tools: probe.toolsVariable,
    results: probe.rendersResults(call, style),
  };
}
