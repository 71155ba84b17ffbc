import { isSettled, type ReasonCode } from "../core/delivery.ts";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import { sentence } from "../ground/text/plain-text.ts";
import { lengthOf } from "../ground/time/ages.ts";
import { repairOf } from "../vendors/verdict.ts";
import type { Panel, Section } from "./panel.ts";
import { noteDone, noteFailed, noteWarning, say } from "./sections.ts";

type Delivery = Pick<
  AlertDetail["deliveries"][number],
  "destination" | "recipient" | "channel" | "state" | "reason" | "dueAt" | "finishedAt"
> & { attempts: readonly { detail?: string; reason?: string }[] };

interface DirectTest {
  id: string;
  receivedAt: number;
  deliveries: readonly Delivery[];
}

/** A note for each recipient of a direct test. @param definedAt where a destination is configured */
export function testPanel(test: DirectTest, definedAt: (destination: string) => string | undefined): Panel {
  return [
    ...test.deliveries.map((delivery) => outcomeNote(test, delivery, definedAt(delivery.destination))),
    {
      kind: "text",
      where: "page",
      text: say`Sent ${{ age: test.receivedAt }}. ${{ link: `/alerts/${test.id}`, text: say`See every attempt` }}`,
    },
  ];
}

function outcomeNote(
  { receivedAt }: DirectTest,
  { destination, recipient, channel, state, attempts, reason, dueAt, finishedAt }: Delivery,
  definedAt = "the configuration",
): Section {
  const to = [destination, recipient !== destination && say` (${recipient})`];
  const last = attempts.at(-1);
  if (state === "sent" || state === "digested") {
    const after = finishedAt !== undefined && ` after ${lengthOf(Math.max(0, finishedAt - receivedAt))}`;
    const said = reason !== "" && say` (${reason})`;
    return noteDone`The test has reached ${to}${after}. Look whether it can be seen there.${said}`;
  }
  if (last === undefined && !isSettled({ state })) return noteWarning`The test is on its way to ${to}.`;
  // The row may have a reason code of another version. It then gets the general advice.
  const repair = repairOf(last?.reason as ReasonCode | undefined, { channel, definedAt });
  const said = (last?.detail ?? reason).replace(/\.$/, "");
  if (isSettled({ state })) return noteFailed`The test did not reach ${to}: ${said}. ${`${sentence(repair)}.`}`;
  const again = dueAt !== undefined && say` It is tried again ${{ age: dueAt, isComing: true }}.`;
  return noteWarning`The test has not reached ${to} yet: ${said}. If it lasts, ${repair}.${again}`;
}
