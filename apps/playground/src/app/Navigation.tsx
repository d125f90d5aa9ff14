import { type ReactElement, useEffect, useRef } from "react";
import { text } from "../text/english.ts";
import { type PageName, pageNames } from "./pageNames.ts";
import { hrefOf } from "./route.ts";
import { useTheme } from "./theme.ts";

/** The pages: at the side, or on a phone above the content. */
export function Navigation({ page }: { readonly page: PageName }): ReactElement {
  const { theme, toggle } = useTheme();
  const list = useRef<HTMLUListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has another link.
  useEffect(() => showCurrent(list.current), [page]);
  return (
    <header className="flex shrink-0 items-center gap-3 border-b border-line bg-raised px-3 py-2 md:w-48 md:flex-col md:items-stretch md:border-r md:border-b-0 md:px-3 md:py-4">
      <p className="hidden items-center gap-2 px-2 font-semibold md:flex">
        <img src="./icon.svg" alt="" className="size-6" />
        Centella
      </p>
      <nav aria-label={text.navigation} className="min-w-0 flex-1">
        <ul ref={list} className="flex gap-1 overflow-x-auto md:flex-col">
          {pageNames.map((name) => (
            <li key={name}>
              <a
                href={hrefOf(name)}
                aria-current={name === page ? "page" : undefined}
                className="block rounded-lg px-3 py-1.5 text-sm whitespace-nowrap text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-ink"
              >
                {text.pages[name]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <button
        type="button"
        onClick={toggle}
        aria-label={theme === "dark" ? text.theme.light : text.theme.dark}
        className="size-9 shrink-0 rounded-lg text-muted hover:bg-sunken"
      >
        <span aria-hidden="true">{theme === "dark" ? "☀" : "☾"}</span>
      </button>
      <p className="hidden px-2 text-xs text-muted md:block">{text.tagline}</p>
    </header>
  );
}

/**
 * Scrolls a list of links, which is wider than the screen of a phone, to the current one. `scrollIntoView` would also move the place from
 * which the Tab key goes on.
 */
function showCurrent(list: HTMLUListElement | null): void {
  const link = list?.querySelector("[aria-current=page]")?.getBoundingClientRect();
  if (list === null || link === undefined) return;
  const { left, width } = list.getBoundingClientRect();
  list.scrollLeft += link.left - left - (width - link.width) / 2;
}
