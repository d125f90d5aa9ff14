import { lazy, type ReactElement, Suspense } from "react";
import type { ChooseModelProps } from "./ChooseModel.tsx";

const ChooseModel = lazy(async () => ({ default: (await import("./ChooseModel.tsx")).ChooseModel }));

/** The dialog, whose code is downloaded when it is opened. */
export function LazyChooseModel(props: ChooseModelProps): ReactElement {
  return (
    <Suspense fallback={null}>
      <ChooseModel {...props} />
    </Suspense>
  );
}
