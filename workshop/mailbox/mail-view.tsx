import type { FC } from "hono/jsx";
import { cut } from "../../src/ground/text/graphemes.ts";
import { PendingFaults } from "../live-parts.tsx";
import type { MailFault } from "./faults.ts";
import type { ReceivedMail, Thread } from "./inbox.ts";

/** Addresses of the page, made in one place. */
export function pathOf(mailbox: string, mail?: ReceivedMail, part?: "html" | "source"): string {
  const parts = [mailbox, ...(mail === undefined ? [] : [String(mail.id)]), ...(part === undefined ? [] : [part])];
  return `/mailboxes/${parts.map(encodeURIComponent).join("/")}`;
}

export const MailboxList: FC<{ mailboxes: string[]; current?: string; count(mailbox: string): number }> = ({
  mailboxes,
  current,
  count,
}) => (
  <nav class="mailboxes" id="mailboxes" data-live aria-label="Mailboxes">
    {mailboxes.map((mailbox) => (
      <a href={pathOf(mailbox)} aria-current={mailbox === current ? "page" : undefined}>
        <span class="title">{mailbox}</span>
        <span class="count">{count(mailbox)}</span>
      </a>
    ))}
    {mailboxes.length === 0 && (
      <p class="quiet empty">No mail has arrived yet. A mailbox appears with its first mail.</p>
    )}
  </nav>
);

export const ThreadList: FC<{ mailbox: string; threads: Thread[]; current?: ReceivedMail }> = ({
  mailbox,
  threads,
  current,
}) => (
  <section class="threads" id="threads" data-live aria-label={`Mails of ${mailbox}`}>
    {threads.map((thread) => (
      <ol class="thread">
        {thread.mails.toReversed().map((mail, index) => (
          <li class={index === 0 ? "" : "earlier"}>
            <a
              id={`mail-${mail.id}`}
              class="mail-line"
              href={pathOf(mailbox, mail)}
              aria-current={mail.id === current?.id ? "page" : undefined}
            >
              <span class="from">{nameOf(mail.from)}</span>
              <Instant at={mail.receivedAt} />
              <span class="subject">{mail.subject === "" ? "(no subject)" : mail.subject}</span>
              {index === 0 && thread.mails.length > 1 && <span class="size">{thread.mails.length}</span>}
              {mail.copies > 1 && <span class="copies">came {mail.copies} times</span>}
              {index === 0 && <span class="snippet">{snippetOf(mail)}</span>}
            </a>
          </li>
        ))}
      </ol>
    ))}
    {threads.length === 0 && <p class="quiet empty">No mail in {mailbox} yet.</p>}
  </section>
);

export const MailView: FC<{ mail: ReceivedMail }> = ({ mail }) => (
  <article class="mail">
    <header>
      <a class="back" href={pathOf(mail.mailbox)}>
        All mails of {mail.mailbox}
      </a>
      <h1>{mail.subject === "" ? "(no subject)" : mail.subject}</h1>
      <dl>
        <dt>From</dt>
        <dd>{mail.from}</dd>
        <dt>To</dt>
        <dd>{mail.to}</dd>
        <dt>Dated</dt>
        <dd>
          <Instant at={mail.date} />, received <Instant at={mail.receivedAt} />
          <span id="copies" data-live>
            {mail.copies > 1 && <span class="copies">came {mail.copies} times, shown once</span>}
          </span>
        </dd>
      </dl>
    </header>
    {mail.html === "" ? (
      <pre class="text">{mail.text}</pre>
    ) : (
      <>
        <iframe
          title="The mail as its reader sees it"
          src={pathOf(mail.mailbox, mail, "html")}
          sandbox="allow-popups allow-popups-to-escape-sandbox"
          referrerpolicy="no-referrer"
        />
        <details id="text">
          <summary>As plain text</summary>
          <pre class="text">{mail.text}</pre>
        </details>
      </>
    )}
    <details id="headers">
      <summary>Headers</summary>
      <table>
        {mail.headers.map(({ name, value }) => (
          <tr>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </table>
    </details>
    <p class="quiet">
      <a href={pathOf(mail.mailbox, mail, "source")}>The mail as received</a>
      {mail.attachments > 0 && `, with ${mail.attachments} attachments`}
    </p>
  </article>
);

const Instant: FC<{ at: number }> = ({ at }) => {
  const iso = new Date(at).toISOString();
  return <time datetime={iso}>{iso.slice(11, 19)}</time>;
};

function nameOf(from: string): string {
  return /^(.+) <[^<>]+>$/.exec(from)?.[1] ?? from;
}

/** What the mail says beyond its subject, as mail programs show it in a list. */
function snippetOf({ subject, text }: ReceivedMail): string {
  const whole = text.replaceAll(/\s+/g, " ").trim();
  const line = whole.startsWith(subject) ? whole.slice(subject.length).trim() : whole;
  return cut(line, 140);
}

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
    <PendingFaults names={pending.map(nameFault)} />
  </section>
);

/** The choice's words, or the fault itself when a script queued it. */
function nameFault({ stage, kind, text, delivered }: MailFault): string {
  const chosen = choices.find(
    ({ fault }) => fault.stage === stage && fault.kind === kind && fault.text === text && fault.delivered === delivered,
  );
  return chosen?.words ?? `${kind} at stage ${stage}`;
}
