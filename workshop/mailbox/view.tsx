import type { Child } from "hono/jsx";
import { type BoardSource, offerFaults, type Place, type ShownMessage } from "../board/source.ts";
import { Instant } from "../board/views.tsx";
import type { Faults } from "../stand-in.ts";
import { groupThreads, type Inbox, type ReceivedMail } from "./inbox.ts";
import type { MailFault } from "./mailbox-stand-in.ts";

const faultChoices: Readonly<Record<string, MailFault>> = {
  "takes the mail and loses the answer": { stage: "mail", kind: "drop", delivered: true },
  "drops the line after the mail": { stage: "mail", kind: "drop" },
  "says nothing after the mail": { stage: "mail", kind: "hang" },
  "refuses the mail": { stage: "mail", kind: 550, text: "5.7.1 Message refused by policy" },
  "is out of space for now": { stage: "mail", kind: 452, text: "4.3.1 Insufficient system storage" },
  "does not know the recipient": { stage: "recipient", kind: 550, text: "5.1.1 No such user" },
  "asks to come back later": { stage: "recipient", kind: 450, text: "4.7.1 Greylisted" },
  "refuses the sender": { stage: "sender", kind: 550, text: "5.7.1 Sender not allowed" },
  "is closing down": { stage: "greeting", kind: 421, text: "4.3.2 Service not available" },
  "drops the connection at once": { stage: "greeting", kind: "drop" },
};

/** A mail is a stranger's page: no scripts, no forms, no loading, its own origin. Links open elsewhere. */
const sandboxed = "allow-popups allow-popups-to-escape-sandbox";
const mailPolicy = `sandbox ${sandboxed}; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'`;

export function viewMailboxes(inbox: Inbox, faults: Faults<MailFault>): BoardSource {
  return {
    app: "mail",
    title: "mail",
    places: () => inbox.mailboxes().map((mailbox) => viewMailbox(mailbox, inbox.mails(mailbox))),
    calls: () => [],
    faults: offerFaults(faults, faultChoices, (mailbox) => (mailbox === "" ? {} : { mailbox })),
    onChange: inbox.changes.onChange,
    file(name) {
      const [, id, form] = /^(\d+)\.(html|txt)$/.exec(name) ?? [];
      const mail = inbox.mails().find((one) => one.id === Number(id));
      if (mail === undefined) return undefined;
      if (form === "txt") return { type: "text/plain; charset=utf-8", body: Buffer.from(mail.source, "latin1") };
      const body = `<!doctype html><base target="_blank">${mail.html}`;
      return { type: "text/html; charset=utf-8", body, policy: mailPolicy };
    },
  };
}

function viewMailbox(mailbox: string, mails: ReceivedMail[]): Place {
  const threads = groupThreads(mails);
  return {
    ...{ id: mailbox, name: mailbox, count: mails.length },
    about: `${threads.length} ${threads.length === 1 ? "conversation" : "conversations"}`,
    newest: (atMost) =>
      mails.slice(-atMost).map((mail) => {
        const thread = threads.find((one) => one.includes(mail)) ?? [];
        return viewMail(mail, thread[thread.indexOf(mail) - 1]);
      }),
  };
}

/** @param before the previous mail in its conversation */
function viewMail(mail: ReceivedMail, before: ReceivedMail | undefined): ShownMessage {
  return {
    ...{ id: String(mail.id), at: mail.receivedAt, from: mail.from, body: viewBody(mail) },
    marks: mail.copies > 1 ? [`came ${mail.copies} times, shown once`] : [],
    answered: before && { id: String(before.id), from: "In the conversation of", text: before.subject },
  };
}

function viewBody({ id, subject, to, date, text, html, headers, attachments }: ReceivedMail): Child {
  return (
    <>
      <h3>{subject === "" ? "(no subject)" : subject}</h3>
      <p class="quiet">
        To {to}, dated <Instant at={date} form="date and time" />
        {attachments > 0 && `, with ${attachments} attached`}
      </p>
      {html === "" ? (
        <pre>{text}</pre>
      ) : (
        <>
          <iframe
            title="The mail as its reader sees it"
            src={`/files/mail/${id}.html`}
            sandbox={sandboxed}
            loading="lazy"
          />
          <details id={`t${id}`}>
            <summary>As plain text</summary>
            <pre>{text}</pre>
          </details>
        </>
      )}
      <details id={`h${id}`}>
        <summary>Headers</summary>
        <pre>{headers.map(({ name, value }) => `${name}: ${value}`).join("\n")}</pre>
      </details>
      <a href={`/files/mail/${id}.txt`}>The mail as received</a>
    </>
  );
}
