/** A line of a file. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** Undefined for a line that is longer than the limit. */
  readonly text: string | undefined;
}

const lineFeed = 10;

/** The lines of a stream of bytes. Of a line longer than `maxBytes`, no more than that is held in memory. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line, void, undefined> {
  let number = 1;
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length <= maxBytes) parts.push(part);
    else parts = [];
  };
  const end = (): Line => {
    const line = { number: number++, text: length > maxBytes ? undefined : new TextDecoder().decode(Buffer.concat(parts)) };
    [parts, length] = [[], 0];
    return line;
  };
  for await (const chunk of bytes) {
    let start = 0;
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, start)) {
      add(chunk.subarray(start, at));
      yield end();
      start = at + 1;
    }
    add(chunk.subarray(start));
  }
  if (length > 0) yield end();
}
