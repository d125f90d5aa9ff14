import { useEffect, useState } from "react";
import { readLocal, writeLocal } from "./local.ts";

export type Theme = "light" | "dark";

const key = "theme";

/** The colours: those that the user chose here, or else those of the system. */
export function useTheme(): { readonly theme: Theme; readonly toggle: () => void } {
  const [theme, setTheme] = useState<Theme>(() => stored() ?? systemTheme());
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const toggle = (): void => {
    const next = theme === "dark" ? "light" : "dark";
    setTheme(next);
    writeLocal(key, next);
  };
  return { theme, toggle };
}

function stored(): Theme | undefined {
  const value = readLocal(key);
  return value === "light" || value === "dark" ? value : undefined;
}

function systemTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
