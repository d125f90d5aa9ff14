import { lazy, type ReactElement, Suspense } from "react";

const LazyMarkdown = lazy(async () => ({ default: (await import("./RenderedMarkdown.tsx")).RenderedMarkdown }));

interface MarkdownProps {
  readonly content: string;
  readonly isRunning: boolean;
}

/** An answer as Markdown. Its code is downloaded with the first answer; until then the text is shown as it is. */
export function Markdown(props: MarkdownProps): ReactElement {
  return (
    <div className="prose-answer">
      <Suspense fallback={<p className="whitespace-pre-wrap">{props.content}</p>}>
        <LazyMarkdown {...props} />
      </Suspense>
    </div>
  );
}
