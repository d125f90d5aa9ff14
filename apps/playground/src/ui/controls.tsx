import { type ComponentProps, cloneElement, type ReactElement, type ReactNode, useId } from "react";

const kinds = {
  primary: "bg-accent text-accent-ink hover:opacity-90",
  plain: "border border-line bg-raised hover:bg-sunken",
  quiet: "text-muted hover:bg-sunken hover:text-ink",
  danger: "border border-line text-danger hover:bg-danger-soft",
} as const;

interface ButtonProps extends ComponentProps<"button"> {
  readonly kind?: keyof typeof kinds;
}

/** The look of buttons and of links that look like them. */
export function buttonClass(kind: keyof typeof kinds = "plain"): string {
  return `inline-flex min-h-9 items-center justify-center gap-1.5 rounded-lg px-3 py-1.5 text-sm font-medium disabled:opacity-50 ${kinds[kind]}`;
}

export function Button({ kind = "plain", className = "", ...props }: ButtonProps): ReactElement {
  return <button type="button" className={`${buttonClass(kind)} ${className}`} {...props} />;
}

export const inputClass = "w-full rounded-lg border border-line bg-raised px-3 py-2 text-sm placeholder:text-muted";

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly children: ReactElement<{ readonly id?: string; readonly "aria-describedby"?: string }>;
}

/** A control with its label, and what it is for. */
export function Field({ label, hint, children }: FieldProps): ReactElement {
  const id = useId();
  const control = cloneElement(children, { id, ...(hint !== undefined && { "aria-describedby": `${id}-hint` }) });
  return (
    <div className="space-y-1 text-sm">
      <label htmlFor={id} className="block font-medium">
        {label}
      </label>
      {control}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </p>
      )}
    </div>
  );
}

/** A part of a page with a heading. */
export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <section className="space-y-3">
      <h2 className="text-base font-semibold">{title}</h2>
      {children}
    </section>
  );
}

/** Whatever may be wider than a phone scrolls by itself, also by keyboard. */
export function Scroll({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactElement {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section aria-label={label} tabIndex={0} className="max-w-full overflow-x-auto rounded-lg border border-line">
      {children}
    </section>
  );
}

export const tableClass =
  "w-full text-left text-sm [&_td]:px-3 [&_td]:py-1.5 [&_th]:px-3 [&_th]:py-2 [&_th]:font-medium [&_tbody_tr]:border-t [&_tbody_tr]:border-line";
