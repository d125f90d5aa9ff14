/** The box around a message that is written, and its field. */
export const composerBox = "rounded-2xl border border-line bg-raised p-2 focus-within:border-accent";
export const composerField = "max-h-48 w-full resize-none bg-transparent px-2 py-1.5 outline-none placeholder:text-muted";

/** The small buttons below messages. */
export const smallButton = "min-h-6 rounded-md px-2 py-0.5 text-xs text-muted hover:bg-sunken hover:text-ink disabled:opacity-50";
