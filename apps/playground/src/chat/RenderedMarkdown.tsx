import type { ReactElement } from "react";
import { Streamdown } from "streamdown";

/**
 * Markdown of a model, which may write anything: HTML is text, pictures are left out, and only links to pages are links. Nothing of it can
 * run or load.
 */
export function RenderedMarkdown({ content, isRunning }: { readonly content: string; readonly isRunning: boolean }): ReactElement {
  return (
    <Streamdown
      mode={isRunning ? "streaming" : "static"}
      skipHtml
      disallowedElements={["img"]}
      urlTransform={(url) => (/^https?:\/\//i.test(url) ? url : "")}
      controls={false}
    >
      {content}
    </Streamdown>
  );
}
