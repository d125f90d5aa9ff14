import type { Regular } from "../expression/types.ts";
import { utf8Ranges } from "../expression/utf8.ts";
import { entryOf } from "../lookup.ts";
import { byteSet } from "./byteSet.ts";
import { emptyNode, type Node } from "./nodes.ts";
import type { NodeTable } from "./nodeTable.ts";

const encoder = new TextEncoder();

/** Words up to which equal lists are found to be equal. Longer ones hardly occur twice. */
const maxSharedWords = 16;

/** The normal form of an expression. Nesting of any depth is followed without recursion. */
export function intern(table: NodeTable, root: Regular): Node {
  const done = table.interned;
  const stack: Regular[] = [root];
  for (let each = stack.at(-1); each !== undefined; each = stack.at(-1)) {
    if (!done.has(each)) {
      table.meter.work(1);
      const missing = childrenOf(each).filter((child) => !done.has(child));
      if (missing.length > 0) {
        for (const child of missing) stack.push(child);
        continue;
      }
      done.set(each, made(table, each, done));
    }
    stack.pop();
  }
  return entryOf(done, root);
}

function childrenOf(regular: Regular): readonly Regular[] {
  if ("items" in regular) return regular.kind === "choice" ? regular.items.filter((item) => !isText(item)) : regular.items;
  return "item" in regular ? [regular.item] : [];
}

function made(table: NodeTable, regular: Regular, done: ReadonlyMap<Regular, Node>): Node {
  const nodeOf = (child: Regular) => entryOf(done, child);
  switch (regular.kind) {
    case "bytes":
      return table.bytes(byteSet(regular.ranges));
    case "codePoints":
      return codePointsNode(table, regular.ranges);
    case "text":
      return wordsNode(table, [regular.text]);
    case "sequence":
      return regular.items.reduceRight<Node>((tail, item) => table.sequence(nodeOf(item), tail), emptyNode);
    case "choice":
      return choiceNode(table, regular.items, nodeOf);
    case "and":
      return table.and(regular.items.map(nodeOf));
    case "automaton":
      return table.automaton(regular.states, 0);
    case "not":
      return table.not(nodeOf(regular.item));
    case "repeat":
      return table.repeat(nodeOf(regular.item), regular.min, regular.max);
  }
}

type TextExpression = Extract<Regular, { kind: "text" }>;

function isText(regular: Regular): regular is TextExpression {
  return regular.kind === "text";
}

/** A choice whose texts are one list of words: its size hardly matters. */
function choiceNode(table: NodeTable, items: readonly Regular[], nodeOf: (item: Regular) => Node): Node {
  const texts = items.filter(isText).map(({ text }) => text);
  return table.choice([wordsNode(table, texts), ...items.filter((item) => !isText(item)).map(nodeOf)]);
}

function codePointsNode(table: NodeTable, ranges: Extract<Regular, { kind: "codePoints" }>["ranges"]): Node {
  const forms = ranges.flatMap(utf8Ranges).map((form) => form.map((range) => table.bytes(byteSet([range]))));
  return table.choice(forms.map((form) => form.reduceRight((tail, head) => table.sequence(head, tail), emptyNode)));
}

function wordsNode(table: NodeTable, texts: readonly string[]): Node {
  const distinct = [...new Set(texts)];
  const made = () => distinct.map((text) => encoder.encode(text)).sort(compareBytes);
  const list = distinct.length <= maxSharedWords ? table.shared(JSON.stringify(distinct), made) : made();
  return table.words(list, 0, list.length, 0);
}

/** Order of strings of bytes: by the first byte that differs, shorter ones first. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (const [i, byte] of a.entries()) {
    const other = b[i];
    if (other === undefined) return 1;
    if (byte !== other) return byte - other;
  }
  return a.length - b.length;
}
