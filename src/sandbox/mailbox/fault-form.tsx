import type { FC } from "hono/jsx";
import type { MailFault } from "./faults.ts";

/** What a person may break, in words; the value is the body of `POST /faults` but for the mailbox. */
const choices: readonly { words: string; fault: MailFault }[] = [
  { words: "takes the mail and loses the answer", fault: { stage: "mail", kind: "drop", delivered: true } },
  { words: "drops the line after the mail", fault: { stage: "mail", kind: "drop" } },
  { words: "says nothing after the mail", fault: { stage: "mail", kind: "hang" } },
  { words: "refuses the mail", fault: { stage: "mail", kind: 550, text: "5.7.1 Message refused by policy" } },
  {
    words: "is out of space for now",
    fault: { stage: "mail", kind: 452, text: "4.3.1 Insufficient system storage" },
  },
  {
    words: "does not know the recipient",
    fault: { stage: "recipient", kind: 550, text: "5.1.1 No such user" },
  },
  { words: "asks to come back later", fault: { stage: "recipient", kind: 450, text: "4.7.1 Greylisted" } },
  { words: "refuses the sender", fault: { stage: "sender", kind: 550, text: "5.7.1 Sender not allowed" } },
  { words: "is closing down", fault: { stage: "greeting", kind: 421, text: "4.3.2 Service not available" } },
  { words: "drops the connection at once", fault: { stage: "greeting", kind: "drop" } },
];

/** The fault behind the form's choice. */
export function chosenFault(choice: unknown): MailFault | undefined {
  return choices[Number(choice)]?.fault;
}

/** Lets a person break the next mail to the mailbox they look at. */
export const FaultForm: FC<{ mailbox: string; pending: readonly MailFault[] }> = ({ mailbox, pending }) => (
  <section class="faults" aria-label="Break something">
    <h2>Break the next mail</h2>
    <form method="post" action="/faults">
      <input type="hidden" name="mailbox" value={mailbox} />
      <label>
        The mail server
        <select name="choice">
          {choices.map(({ words }, index) => (
            <option value={String(index)}>{words}</option>
          ))}
        </select>
      </label>
      <button type="submit">Break it</button>
    </form>
    <div id="pending" data-live>
      {pending.length > 0 && (
        <form method="post" action="/faults/clear">
          <p>Waiting: {pending.map(nameFault).join("; ")}</p>
          <button type="submit">Forget them</button>
        </form>
      )}
    </div>
  </section>
);

/** The choice's words, or what a script asked for. */
function nameFault({ stage, kind, text, delivered }: MailFault): string {
  const chosen = choices.find(
    ({ fault }) =>
      fault.stage === stage && fault.kind === kind && fault.text === text && fault.delivered === delivered,
  );
  return chosen?.words ?? `${kind} at stage ${stage}`;
}
