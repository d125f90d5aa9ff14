export const load = (specifier) => import(specifier);
