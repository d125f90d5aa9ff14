import { expect, test } from "vitest";
import { Output } from "../src/output.ts";

function outputOn({ terminal, quiet = false, verbose = false }: { terminal: boolean; quiet?: boolean; verbose?: boolean }) {
  const written = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof written) => ({
    isTTY: terminal,
    write(text: string) {
      written[name] += text;
    },
  });
  return { written, output: new Output(stream("stdout"), stream("stderr"), { quiet, verbose }) };
}

const hostile = "a\x1b[2J\x9b1m\x07\rb\x7f\tc\n";
const shown = "a\\x1b[2J\\x9b1m\\x07\\x0db\\x7f\tc\n";

test("a terminal gets no control characters but tab and line feed", () => {
  const { written, output } = outputOn({ terminal: true });
  output.write(hostile);
  output.error(hostile);
  expect(written).toEqual({ stdout: shown, stderr: `${shown}\n` });
});

test("a pipe gets results byte for byte, and messages that a log can be read from", () => {
  const { written, output } = outputOn({ terminal: false });
  output.write(hostile);
  output.warn(hostile);
  expect(written).toEqual({ stdout: hostile, stderr: `${shown}\n` });
});

test("notes are for terminals and --verbose, and --quiet silences all but errors", () => {
  const said = (options: Parameters<typeof outputOn>[0]) => {
    const { written, output } = outputOn(options);
    output.note("note");
    output.warn("warning");
    output.status("status");
    output.error("error");
    return written.stderr;
  };
  expect(said({ terminal: false })).toBe("warning\nerror\n");
  expect(said({ terminal: false, verbose: true })).toBe("note\nwarning\nerror\n");
  expect(said({ terminal: true })).toBe("note\nwarning\n\r\x1b[Kstatus\r\x1b[Kerror\n");
  expect(said({ terminal: true, quiet: true })).toBe("error\n");
});
