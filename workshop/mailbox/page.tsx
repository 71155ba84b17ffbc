import { Head } from "../live-parts.tsx";
import { createLivePage, type LivePage, readGivenFault } from "../stand-in.ts";
import { type MailFaults, readMailFault } from "./faults.ts";
import { groupThreads, type Inbox, type ReceivedMail } from "./inbox.ts";
import { chosenFault, FaultForm, MailboxList, MailView, pathOf, ThreadList } from "./mail-view.tsx";
import { pageScript } from "./page-script.ts";
import { pageStyle } from "./page-style.ts";

export interface MailboxPageDeps {
  inbox: Inbox;
  faults: MailFaults;
}

/** A mail is a stranger's page: no scripts, no forms, nothing loaded, an origin of its own. Links open elsewhere. */
const mailPolicy =
  "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/**
 * What people see of the stand-in: `/` the mailboxes, `/mailboxes/<address>` the threads of one,
 * `/mailboxes/<address>/<id>` a mail, below it `/html` and `/source`; `/events` says when to look again, `/mails.json`
 * is for scripts, `POST /faults` breaks the next mail (the page's form, or JSON like the argument of `faults.next`).
 */
export function createMailboxPage({ inbox, faults }: MailboxPageDeps): LivePage {
  const { app, close } = createLivePage({
    onChange: inbox.onChange,
    style: pageStyle,
    script: pageScript,
    framed: { path: "/mailboxes/:mailbox/:id/html", policy: mailPolicy },
  });

  const render = (mailbox: string | undefined, mail?: ReceivedMail) => (
    <html lang="en">
      <Head title={mailbox === undefined ? "Stand-in mailbox" : `${mail?.subject ?? mailbox} · stand-in mailbox`} />
      <body class={mail === undefined ? "listing" : "reading"}>
        <p class="banner">
          <b>Stand-in for a mail provider.</b> Nothing here leaves this machine. <span id="live-state">Live</span>
        </p>
        <main>
          <div class="side">
            <MailboxList mailboxes={inbox.mailboxes()} current={mailbox} count={(name) => inbox.mails(name).length} />
            <FaultForm mailbox={mailbox ?? ""} pending={faults.pending()} />
          </div>
          {mailbox !== undefined && (
            <ThreadList mailbox={mailbox} threads={groupThreads(inbox.mails(mailbox))} current={mail} />
          )}
          {mail === undefined ? <p class="mail quiet none">Choose a mail to read it.</p> : <MailView mail={mail} />}
        </main>
      </body>
    </html>
  );
  const findMail = (mailbox: string, id: string) => inbox.find(mailbox, Number(id));

  app.get("/", (c) => {
    const [first] = inbox.mailboxes();
    return first === undefined ? c.html(render(undefined)) : c.redirect(pathOf(first));
  });
  app.get("/mailboxes/:mailbox", (c) => {
    const mailbox = c.req.param("mailbox").toLowerCase();
    return inbox.mailboxes().includes(mailbox) ? c.html(render(mailbox)) : c.redirect("/");
  });
  app.get("/mailboxes/:mailbox/:id", (c) => {
    const mail = findMail(c.req.param("mailbox"), c.req.param("id"));
    return mail === undefined ? c.redirect("/") : c.html(render(mail.mailbox, mail));
  });
  app.get("/mailboxes/:mailbox/:id/html", (c) => {
    const mail = findMail(c.req.param("mailbox"), c.req.param("id"));
    if (mail === undefined) return c.notFound();
    const document = `<!doctype html><base target="_blank">${mail.html}`;
    return c.body(document, 200, { "content-type": "text/html; charset=utf-8" });
  });
  app.get("/mailboxes/:mailbox/:id/source", (c) => {
    const mail = findMail(c.req.param("mailbox"), c.req.param("id"));
    if (mail === undefined) return c.notFound();
    return c.body(Buffer.from(mail.source, "latin1"), 200, { "content-type": "text/plain; charset=utf-8" });
  });
  app.get("/mails.json", (c) => c.json({ data: inbox.mails(c.req.query("mailbox")) }));

  app.post("/faults", async (c) => {
    const { isForm, given } = await readGivenFault(c);
    const { choice, mailbox } = (given ?? {}) as Record<string, unknown>;
    const fault = readMailFault(isForm ? { ...chosenFault(choice), mailbox } : given);
    if (typeof fault === "string") return c.json({ error: fault }, 400);
    faults.next(fault);
    if (!isForm) return c.json({ data: { pending: faults.pending() } }, 201);
    return c.redirect(fault.mailbox === undefined ? "/" : pathOf(fault.mailbox), 303);
  });
  app.post("/faults/clear", (c) => {
    faults.clear();
    return c.redirect("/", 303);
  });

  return { app, close };
}
