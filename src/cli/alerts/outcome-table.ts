import type { DeliveryDetailOnWire } from "../relay/wire.ts";
import { describeAge, describeSpan } from "../shell/age.ts";
import type { Output } from "../shell/output.ts";

/** Where each delivery stands, why, and how long it took from `startedAt` on. */
export function formatOutcomes(
  deliveries: DeliveryDetailOnWire[],
  output: Output,
  { startedAt, now }: { startedAt: number; now: number },
): string {
  return output.table(
    [
      { title: "destination" },
      { title: "recipient" },
      { title: "state", keep: true },
      { title: "took", align: "right" },
      { title: "detail" },
    ],
    deliveries.map((delivery) => [
      delivery.destination,
      delivery.recipient,
      delivery.state,
      delivery.finishedAt === undefined ? "" : describeSpan(Date.parse(delivery.finishedAt) - startedAt),
      describeOutcome(delivery, now),
    ]),
  );
}

/** The last attempt's words, or why there was none; when it waits, until when. */
function describeOutcome({ attempts, reason, dueAt, state }: DeliveryDetailOnWire, now: number): string {
  const last = attempts.at(-1);
  const words = last?.detail ?? (state === "sent" ? "" : reason);
  const next = dueAt === undefined ? "" : `next try ${describeAge(Date.parse(dueAt), now)}`;
  return [words, next].filter((text) => text !== "").join("; ");
}
