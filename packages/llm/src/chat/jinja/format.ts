import { type Budget, TextBuilder } from "./budget.ts";
import { EvaluationError } from "./errors.ts";
import type { Text } from "./text.ts";
import { toText } from "./toText.ts";
import { type Arguments, numberOf, type Value } from "./values.ts";

/** Python's `str.format` with the fields `{}`, `{0}` and `{name}`. */
export function formatBraces(text: Text, { positional, named }: Arguments, budget: Budget): Text {
  let next = 0;
  return fillIn(text, /\{\{|\}\}|\{(\w*)\}|[{}]/g, budget, ([whole, field]) => {
    if (whole === "{{" || whole === "}}") return undefined;
    if (field === undefined) throw new EvaluationError('format: expected fields such as "{}", "{0}" or "{name}", got another form');
    const index = field === "" ? next++ : Number(field);
    return toText(Number.isInteger(index) ? positional[index] : named.get(field), budget);
  });
}

/** Python's `%` operator for strings, with `%s`, `%r`, `%d`, `%i`, `%f` (with a precision) and `%%`. */
export function formatPercent(text: Text, values: readonly Value[], budget: Budget): Text {
  let next = 0;
  return fillIn(text, /%(?:\.(\d{1,2}))?(.?)/gs, budget, ([whole, precision, kind]) => {
    if (kind === "%") return undefined;
    if (next >= values.length) throw new EvaluationError("format: expected a value for each field, got fewer");
    const value = values[next++];
    if (kind === "s" || kind === "r") return toText(value, budget);
    const number = numberOf(value);
    if (number === undefined || !"dif".includes(kind || "?"))
      throw new EvaluationError(`format: expected %s, or %d or %f with a number, got ${JSON.stringify(whole)}`);
    return kind === "f" ? number.toFixed(Number(precision ?? 6)) : toText(Math.trunc(number), budget);
  });
}

/** Replaces fields. `fieldText` returns the text of a field, or undefined for an escaped character such as `%%`. */
function fillIn(text: Text, fields: RegExp, budget: Budget, fieldText: (match: RegExpMatchArray) => Text | string | undefined): Text {
  const out = new TextBuilder(budget);
  let from = 0;
  for (const match of text.value.matchAll(fields)) {
    budget.spend(1);
    const value = fieldText(match);
    out.add(text.slice(from, match.index));
    if (typeof value === "string") out.addAs(value, "c");
    else out.add(value ?? text.slice(match.index, match.index + 1));
    from = match.index + match[0].length;
  }
  return out.add(text.slice(from)).done();
}
