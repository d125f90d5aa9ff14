/** Origin of a character: "t" for the template and trusted values, "c" for content from outside, "m" for marks of the renderer. */
export type Origin = "t" | "c" | "m";

/** A text that knows the origin of every character. Operations preserve the origins. */
export class Text {
  static readonly empty: Text = new Text("", "");

  readonly value: string;
  /** As long as `value`: the {@link Origin} of each of its UTF-16 units. */
  readonly origins: string;

  constructor(value: string, origins: string) {
    this.value = value;
    this.origins = origins;
  }

  static of(value: string, origin: Origin): Text {
    return new Text(value, origin.repeat(value.length));
  }

  get length(): number {
    return this.value.length;
  }

  slice(start: number, end: number = this.length): Text {
    return start === 0 && end >= this.length ? this : new Text(this.value.slice(start, end), this.origins.slice(start, end));
  }

  /** Length in characters, as Python counts. */
  get characterCount(): number {
    return countCharacters(this.value, this.length);
  }

  /** {@link slice} by characters. */
  sliceCharacters(start: number, end: number): Text {
    if (!surrogate.test(this.value)) return this.slice(start, end);
    const from = offsetOf(this.value, 0, start);
    return this.slice(from, offsetOf(this.value, from, end - start));
  }

  concat(other: Text): Text {
    return new Text(this.value + other.value, this.origins + other.origins);
  }

  /** Maximal runs of one origin, in order. */
  *runs(): Generator<Text> {
    for (let start = 0; start < this.length; ) {
      const origin = this.origins.charAt(start);
      let end = start + 1;
      while (this.origins[end] === origin) end++;
      yield this.slice(start, end);
      start = end;
    }
  }

  /** Applies a change to the text, or to each run of one origin if the length changes. Each run keeps its origin. */
  map(change: (value: string) => string): Text {
    const result = change(this.value);
    if (result.length === this.length) return new Text(result, this.origins);
    let [value, origins] = ["", ""];
    for (const run of this.runs()) {
      const changed = change(run.value);
      value += changed;
      origins += run.origins.charAt(0).repeat(changed.length);
    }
    return new Text(value, origins);
  }
}

const surrogate = /[\ud800-\udfff]/;

/** Number of characters that begin before the offset `end`. */
export function countCharacters(value: string, end: number): number {
  if (!surrogate.test(value)) return end;
  let count = 0;
  for (let i = 0; i < end; i = offsetOf(value, i, 1)) count++;
  return count;
}

/** Offset of the character that is `count` characters after `from`. */
function offsetOf(value: string, from: number, count: number): number {
  let offset = from;
  for (let i = 0; i < count && offset < value.length; i++) offset += (value.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  return offset;
}
