import { type ReactElement, type ReactNode, useEffect, useRef } from "react";
import { text } from "../text/english.ts";

interface PageProps {
  readonly title: string;
  readonly intro: string;
  readonly children: ReactNode;
}

/** A page with its heading, which takes the focus so that screen readers say where they are. */
export function Page({ title, intro, children }: PageProps): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} – ${text.name}`;
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div className="mx-auto w-full max-w-5xl space-y-6 px-4 py-6">
      <header className="space-y-1">
        <h1 ref={heading} tabIndex={-1} className="text-xl font-semibold">
          {title}
        </h1>
        <p className="max-w-prose text-sm text-muted">{intro}</p>
      </header>
      {children}
    </div>
  );
}
