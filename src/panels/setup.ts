import type { Section } from "./panel.ts";
import { groupOf, paragraph } from "./sections.ts";

/** `isRevealed`: the address contains its secret. */
export function tryPanel(hookUrl: string, { isRevealed }: { isRevealed: boolean }): Section {
  const alert = `{"title":"USDC TVL 24.3 M, below 25 M","severity":"critical"}`;
  return groupOf({ title: "Try it", id: "try-title" }, [
    paragraph`${{ code: "tocsin test" }} sends one marked alert as a sender would and waits for each destination.
      From any machine that reaches the address:`,
    { kind: "block", text: `curl -d '${alert}' ${hookUrl}`, blockId: "curl", canCopy: isRevealed },
    paragraph`The answer is ${{ code: "202" }} with the alert's id once it is on disk. Any JSON, form or text is
      taken; what can be read from it is shown on the alert's page beside the body as received.`,
  ]);
}
