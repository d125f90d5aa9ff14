/** Who wrote a character: "t", the template (or a value that it may trust); "c", content from outside; "m", a mark that the renderer set. */
export type Origin = "t" | "c" | "m";

/** A text in which the origin of every character is known, whatever was done to it. */
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

  /** Characters, which Python counts where JavaScript counts UTF-16 units. */
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

  /** Stretches of one origin, in order. */
  *runs(): Generator<Text> {
    for (let start = 0; start < this.length; ) {
      const origin = this.origins[start]!;
      let end = start + 1;
      while (this.origins[end] === origin) end++;
      yield this.slice(start, end);
      start = end;
    }
  }

  /** Changes characters. What a stretch of one origin becomes keeps that origin. */
  map(change: (value: string) => string): Text {
    const whole = change(this.value);
    if (whole.length === this.length) return new Text(whole, this.origins);
    let [value, origins] = ["", ""];
    for (const run of this.runs()) {
      const changed = change(run.value);
      value += changed;
      origins += run.origins[0]!.repeat(changed.length);
    }
    return new Text(value, origins);
  }
}

const surrogate = /[\ud800-\udfff]/;

/** Characters that begin before the offset `end`. */
export function countCharacters(value: string, end: number): number {
  if (!surrogate.test(value)) return end;
  let count = 0;
  for (let i = 0; i < end; i = offsetOf(value, i, 1)) count++;
  return count;
}

/** The offset `count` characters after `from`. */
function offsetOf(value: string, from: number, count: number): number {
  let offset = from;
  for (let i = 0; i < count && offset < value.length; i++) offset += value.codePointAt(offset)! > 0xffff ? 2 : 1;
  return offset;
}
