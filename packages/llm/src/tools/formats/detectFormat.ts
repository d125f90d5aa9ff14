import { elementAt, lastOf } from "@centella/quant/checks";
import { type FoundArguments, findArguments, syntaxOf } from "./detectArguments.ts";
import { keys, type ProbeCall, type ProbeStyle, probeCall, type TemplateProbe } from "./probe.ts";
import type { Pieces, Slot, ToolFormat } from "./toolFormat.ts";
import { slots } from "./toolFormat.ts";

const styles: readonly ProbeStyle[] = [
  { args: "object", content: "" },
  { args: "object", content: null },
  { args: "text", content: "" },
  { args: "text", content: null },
];
const args = { [keys[0]]: "ripeq", [keys[1]]: "sweetq", [keys[2]]: "sourq" };

/** A slot and where it is in a rendered text. */
interface Place {
  readonly slot: Slot;
  readonly start: number;
  readonly end: number;
}

/** What {@link detectSyntax} finds. */
export type DetectedSyntax = Omit<ToolFormat, "name" | "reason" | "template"> & { readonly style: ProbeStyle };

/** Finds how a template writes calls by rendering some. Returns undefined where it writes none that can be read back. */
export function detectSyntax(probe: TemplateProbe): DetectedSyntax | undefined {
  const calls = [0, 1, 2].map((i) => probeCall(i, args));
  for (const style of styles) {
    const one = places(probe.calls(calls.slice(0, 1), style), calls.slice(0, 1));
    if (one === undefined) continue;
    const two = places(probe.calls(calls.slice(0, 2), style), calls.slice(0, 2));
    const three = places(probe.calls(calls, style), calls);
    return assemble(probe, style, calls, [one, two, three]);
  }
  return undefined;
}

/** A rendered turn and the slots of its calls. */
interface Turn {
  readonly text: string;
  readonly calls: readonly { readonly places: readonly Place[]; readonly found: FoundArguments }[];
}

function places(text: string | undefined, calls: readonly ProbeCall[]): Turn | undefined {
  if (text === undefined) return undefined;
  const found: Turn["calls"][number][] = [];
  let from = 0;
  for (const [i, call] of calls.entries()) {
    const nameAt = text.indexOf(call.name, from);
    if (nameAt < 0) return undefined;
    const next = calls[i + 1];
    const nextAt = next === undefined ? text.length : earliest(text, [next.name, next.id], nameAt);
    const lastName = text.slice(0, nextAt).lastIndexOf(call.name) + call.name.length;
    const given = findArguments(text.slice(lastName, nextAt), call.args);
    if (given === undefined) return undefined;
    const own: Place[] = [{ slot: slots.arguments, start: lastName + given.start, end: lastName + given.end }];
    for (const [slot, value] of [[slots.name, call.name] as const, [slots.id, call.id] as const]) {
      for (let at = text.indexOf(value, from); at >= 0 && at < nextAt; at = text.indexOf(value, at + value.length)) {
        if (slot === slots.name && at >= lastName) break;
        own.push({ slot, start: at, end: at + value.length });
      }
    }
    own.sort((a, b) => a.start - b.start);
    found.push({ places: own, found: given });
    from = Math.max(...own.map(({ end }) => end));
  }
  return { text, calls: found };
}

function earliest(text: string, values: readonly string[], from: number): number {
  const found = values.map((value) => text.indexOf(value, from)).filter((at) => at >= 0);
  return found.length === 0 ? text.length : Math.min(...found);
}

type Turns = readonly [one: Turn, two: Turn | undefined, three: Turn | undefined];

function assemble(
  probe: TemplateProbe,
  style: ProbeStyle,
  calls: readonly ProbeCall[],
  [one, two, three]: Turns,
): DetectedSyntax | undefined {
  const last = two ?? one;
  const { before: answerBefore, after: turnEnd } = probe.answer();
  const start = startOf(one);
  const alone = one.text.slice(0, start).trimStart();
  const afterContent = probe.afterContent(calls.slice(0, 1), style);
  const both = afterContent?.slice(0, earliest(afterContent, [elementAt(calls, 0).name, elementAt(calls, 0).id], 0)).trimStart() ?? "";
  const before = both === "" || both === afterContent?.trimStart() ? alone : commonSuffix(alone, both) || alone;
  const rest = last.text.slice(endOf(last, last.calls.length - 1));
  const ending = withoutTurnEnd(rest, turnEnd);
  const gaps = [two, three].flatMap((turn) => (turn === undefined ? [] : [gapOf(turn, turn.calls.length - 2)]));
  const syntax = syntaxOf(elementAt(one.calls, 0).found, { probe, style, rest: ending });
  if (syntax === undefined) return undefined;
  const { trim, lead } = syntax;
  const numbered = numbering(one, last, { before, gaps, lead });
  const between = numbered.between === undefined ? undefined : trimStart(numbered.between, trim);
  // Without text before the first call, the prompt ends with what precedes the others.
  const opened = before === "" && typeof between?.[0] === "string" ? between[0] : undefined;
  return {
    style,
    before: opened === undefined ? numbered.before : [opened],
    call: numbered.call,
    ...(between !== undefined && { between }),
    after: ending.slice(trim.length).trimEnd(),
    ...triggerOf(opened ?? before, turnEnd),
    ...(answerBefore !== "" && { answer: (opened ?? "") + answerBefore }),
    ...(opened !== undefined && { opened }),
    arguments: syntax.arguments,
    id: idPattern(probe, elementAt(calls, 0), style),
    firstIndex: numbered.first,
  };
}

function startOf({ calls }: Turn, i = 0): number {
  return elementAt(elementAt(calls, i).places, 0).start;
}

function endOf({ calls }: Turn, i: number): number {
  return lastOf(elementAt(calls, i).places).end;
}

/** Text between call `i` and the next one. */
function gapOf(turn: Turn, i: number): string {
  return turn.text.slice(endOf(turn, i), startOf(turn, i + 1));
}

/** Pieces of call `i`, from its first slot to its last. `lead` is the length of the text that precedes the first of tagged arguments. */
function piecesOf(turn: Turn, i: number, lead: number): (string | Slot)[] {
  const { places } = elementAt(turn.calls, i);
  return places.flatMap(({ slot, end }, at) => {
    const next = places[at + 1];
    if (next === undefined) return [slot];
    const start = next.slot === slots.arguments ? next.start + lead : next.start;
    return start === end ? [slot] : [slot, turn.text.slice(end, start)];
  });
}

interface Numbered {
  readonly before: Pieces;
  readonly call: Pieces;
  readonly between: Pieces | undefined;
  readonly first: number;
}

/** Replaces numbers that count the calls of a turn by slots. */
function numbering(
  one: Turn,
  last: Turn,
  { before, gaps, lead }: { readonly before: string; readonly gaps: readonly string[]; readonly lead: number },
): Numbered {
  const call = piecesOf(one, 0, lead);
  const second = last.calls.length > 1 ? piecesOf(last, 1, lead) : call;
  const counted = call.map((piece, i) => {
    const other = second[i];
    return typeof piece === "string" && typeof other === "string" ? countedPieces(piece, other) : undefined;
  });
  const inCall = counted.find((found) => found !== undefined);
  const [gap, nextGap] = gaps;
  const inGap = gap !== undefined && nextGap !== undefined ? countedPieces(gap, nextGap) : undefined;
  if (inGap !== undefined) {
    const { pieces, number } = inGap;
    const tail = pieces.at(-1) as string;
    const head = before.endsWith(`${number - 1}${tail}`) ? before.slice(0, before.length - `${number - 1}${tail}`.length) : undefined;
    if (head !== undefined) return { before: [head, slots.index, tail], call, between: pieces, first: number - 1 };
  }
  const pieces = call.flatMap((piece, i) => counted[i]?.pieces ?? [piece]);
  return { before: [before], call: pieces, between: gap === undefined ? undefined : [gap], first: inCall?.number ?? 0 };
}

/** Splits a text at a number that is one less than that in `next`, if that is the only difference. */
function countedPieces(text: string, next: string): { readonly pieces: Pieces; readonly number: number } | undefined {
  if (text === next || text.length !== next.length) return undefined;
  const at = [...text].findIndex((character, i) => character !== next[i]);
  const [a, b] = [Number(text[at]), Number(next[at])];
  if (b !== a + 1 || text.slice(at + 1) !== next.slice(at + 1)) return undefined;
  return { pieces: [text.slice(0, at), slots.index, text.slice(at + 1)], number: a };
}

function commonSuffix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && length < b.length && a.at(-1 - length) === b.at(-1 - length)) length++;
  return a.slice(a.length - length);
}

/** A text without the end of the turn, which may differ where calls end it. */
function withoutTurnEnd(text: string, turnEnd: string): string {
  const end = turnEnd.trim();
  if (end === "") return text;
  const at = text.indexOf(end);
  if (at >= 0) return text.slice(0, at);
  const same = commonSuffix(text, turnEnd);
  const tag = same.search(/[<[]/);
  return tag < 0 ? text : text.slice(0, text.length - same.length + tag);
}

function trimStart(pieces: Pieces, text: string): Pieces {
  const [first, ...rest] = pieces;
  return typeof first === "string" && first.startsWith(text) ? [first.slice(text.length), ...rest] : pieces;
}

const firstTag = /^(?:<[^<>\s]+>|\[[A-Z_]+\])/;

function triggerOf(before: string, turnEnd: string): { readonly trigger: string; readonly isTriggerAtStart: boolean } {
  const tag = firstTag.exec(before)?.[0];
  if (tag !== undefined && !turnEnd.includes(tag)) return { trigger: tag, isTriggerAtStart: false };
  return { trigger: before, isTriggerAtStart: /^[{[]/.test(before) };
}

function idPattern(probe: TemplateProbe, call: ProbeCall, style: ProbeStyle): string {
  const isShort = probe.calls([{ ...call, id: "call_0123456789abcdef" }], style) === undefined;
  return isShort ? "[A-Za-z0-9]{9}" : "[A-Za-z0-9_.:-]{1,64}";
}
