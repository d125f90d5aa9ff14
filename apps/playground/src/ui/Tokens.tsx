import type { ReactElement } from "react";
import type { Token } from "../workers/vocabulary.ts";

/** The text of a token with its white space made visible. */
export function visible({ text }: Token): string {
  return text.replaceAll(" ", "·").replaceAll("\n", "↵").replaceAll("\t", "⇥");
}

interface TokensProps {
  readonly tokens: readonly Token[];
  readonly selected?: number | undefined;
  readonly onSelect?: (index: number) => void;
  /** Style of a token, such as its colour in a heat map. */
  readonly colourOf?: (index: number) => string | undefined;
  /** What is said about a token besides its text. */
  readonly describe: (token: Token, index: number) => string;
}

/** Tokens one after the other, each of which can be selected. */
export function Tokens({ tokens, selected, onSelect, colourOf, describe }: TokensProps): ReactElement {
  return (
    <ol className="flex flex-wrap gap-0.5 font-mono text-sm">
      {tokens.map((token, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a token is known by its place.
        <li key={index}>
          <button
            type="button"
            aria-pressed={selected === index}
            aria-label={`${visible(token)}, ${describe(token, index)}`}
            title={describe(token, index)}
            onClick={() => onSelect?.(index)}
            style={{ backgroundColor: colourOf?.(index) }}
            className={`min-h-6 min-w-6 rounded px-1 break-all whitespace-pre-wrap ${colourOf === undefined ? (index % 2 === 0 ? "bg-accent-soft" : "bg-sunken") : ""} ${token.isSpecial ? "italic" : ""} aria-pressed:outline-2 aria-pressed:outline-accent`}
          >
            {visible(token)}
          </button>
        </li>
      ))}
    </ol>
  );
}
