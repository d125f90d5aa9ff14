// @ts-expect-error the tests of this page take the module's place
import "tests-of-page";
import { runCollected } from "./vitestInPage.ts";

// Files of tests may await: they are complete here.
Object.assign(globalThis, { pageTests: await runCollected() });
