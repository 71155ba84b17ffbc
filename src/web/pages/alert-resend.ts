import type { DestinationView } from "../../contract/operations.ts";
import { standingOf, toneOf, wordOf } from "../../contract/words.ts";
import type { AlertDetail, DeliverySummary } from "../../core/ports/alert-log.ts";
import { actsOf, aside, type Cell, groupOf, type Panel, paragraph, say } from "../../panels/panel.ts";
import { titleOf } from "./alert-text.tsx";

/** `GET /alerts/:id/resend`: which destinations one alert is to be resent to. Those that it did not reach are ticked. */
export function alertResendPanel(alert: AlertDetail, destinations: readonly DestinationView[]): Panel {
  const standing = standingOf(alert);
  const proposed = proposeDestinations(standing);
  const choices = destinations.map(({ name, channel, recipients }) => {
    const states = new Set(standing.flatMap(({ destination, state }) => (destination === name ? [state] : [])));
    const chips = [...states].map((state): Cell => [{ chip: wordOf(state), tone: toneOf(state) }, { words: " " }]);
    return {
      value: name,
      text: say`${{ bold: name }} ${chips}${channel} to ${recipients.join(", ")}`,
      isChosen: proposed.has(name),
    };
  });
  const address = `/alerts/${alert.id}`;
  return [
    { kind: "text", text: { link: address, text: titleOf(alert) } },
    choices.length === 0
      ? paragraph`No destination is configured.`
      : groupOf({ title: "Destinations", id: "destinations-title" }, [
          aside`Each gets a message of its own at once, marked as resent, also in quiet hours. What is on its way still arrives besides.`,
          actsOf({
            label: "Resend to those ticked",
            post: `${address}/resend`,
            inputs: [{ name: "destination", label: "Resend to", choices }],
            isMain: true,
          }),
          actsOf({ label: "Cancel", link: address }),
        ]),
  ];
}

/**
 * Proposes the destinations where the alert is missing; without any, those where it has been. A delivery that is under way, or
 * was kept back on purpose, would only ring.
 */
function proposeDestinations(standing: DeliverySummary[]): Set<string> {
  const missing = standing.filter(
    ({ state, dueAt }) => state === "failed" || state === "expired" || (state === "held" && dueAt === undefined),
  );
  const arrived = standing.filter(({ state }) => state === "sent" || state === "digested");
  return new Set((missing.length > 0 ? missing : arrived).map(({ destination }) => destination));
}
