import { describe, expect, it } from "vitest";
import { createMailFaultQueue } from "../../workshop/mailbox/faults.ts";
import { createInbox, groupThreads, type ParsedMail } from "../../workshop/mailbox/inbox.ts";
import { createMailboxPage } from "../../workshop/mailbox/page.tsx";

const at = Date.UTC(2026, 10, 20, 12, 0, 30);

function mailOf(change: Partial<ParsedMail> = {}): ParsedMail {
  return {
    from: "Tocsin <alerts@tocsin.example>",
    to: "ops@example.com",
    subject: "TVL fell",
    date: at,
    messageId: "<1@tocsin.example>",
    references: [],
    headers: [{ name: "From", value: "Tocsin <alerts@tocsin.example>" }],
    text: "It fell by 4 %.",
    html: "<p>It fell.</p>",
    attachments: 0,
    source: "From: x\r\n\r\nhi",
    ...change,
  };
}

function openPage(mails: ParsedMail[] = [], mailboxes: string[] = []) {
  const inbox = createInbox(mailboxes);
  const faults = createMailFaultQueue(inbox.changed);
  for (const mail of mails) inbox.add("ops@example.com", "alerts@tocsin.example", mail, at);
  const page = createMailboxPage({ inbox, faults });
  const get = async (path: string) => page.app.fetch(new Request(`http://stand-in.test${path}`));
  const post = async (path: string, init: RequestInit) =>
    page.app.fetch(new Request(`http://stand-in.test${path}`, { method: "POST", ...init }));
  return { inbox, faults, page, get, post };
}

/** Every tag with the names of its attributes: what a hostile text would add to. */
function skeletonOf(html: string): string[] {
  return [...html.matchAll(/<\/?([a-z][a-z0-9]*)((?:\s+[^\s=>]+(?:="[^"]*")?)*)\s*\/?>/gi)].map(
    ([, tag, attributes]) => `${tag} ${(attributes ?? "").replaceAll(/="[^"]*"/g, "")}`,
  );
}

describe("the page", () => {
  it("says what it is before the first mail, and leads to a mailbox after it", async () => {
    const empty = await openPage().get("/");
    expect(await empty.text()).toContain("No mail has arrived yet");
    const { get } = openPage([mailOf()]);
    expect((await get("/")).headers.get("location")).toBe("/mailboxes/ops%40example.com");
    expect((await get("/mailboxes/none%40example.com")).headers.get("location")).toBe("/");
    expect((await get("/mailboxes/ops%40example.com/99")).headers.get("location")).toBe("/");
  });

  it("shows a thread as one, with its mails and repeats", async () => {
    const { get } = openPage([
      mailOf({ references: ["<root@x>"] }),
      mailOf({ references: ["<root@x>"] }),
      mailOf({ messageId: "<2@tocsin.example>", references: ["<root@x>"], subject: "TVL is back" }),
    ]);
    const html = await (await get("/mailboxes/ops%40example.com")).text();
    expect(html.match(/<ol class="thread">/g)).toHaveLength(1);
    expect(html).toContain('<span class="size">2</span>');
    expect(html).toContain("came 2 times");
  });

  it("shows hostile text as text, everywhere", async () => {
    const evil = `"><script>alert(1)</script><img src=x onerror="alert(1)">'&amp;\u202e`;
    const hostile = mailOf({ from: evil, to: evil, subject: evil, text: evil, headers: [{ name: evil, value: evil }] });
    const [bad, good] = [openPage([hostile]), openPage([mailOf()])];
    const named = await openPage([], [`"><b>@example.com`]).get("/mailboxes/%22%3E%3Cb%3E%40example.com");
    expect(await named.text()).not.toContain("<b>@example.com");
    for (const path of ["/mailboxes/ops%40example.com", "/mailboxes/ops%40example.com/1"]) {
      const [badHtml, goodHtml] = [await (await bad.get(path)).text(), await (await good.get(path)).text()];
      expect(badHtml).not.toContain("<script>alert");
      expect(skeletonOf(badHtml)).toEqual(skeletonOf(goodHtml));
    }
  });

  it("allows nothing from elsewhere, and a mail even less", async () => {
    const { get } = openPage([mailOf({ html: "<script>top.x = 1</script>" })]);
    const page = await get("/mailboxes/ops%40example.com/1");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(await page.text()).toMatch(/<iframe[^>]* sandbox="allow-popups allow-popups-to-escape-sandbox"/);
    const mail = await get("/mailboxes/ops%40example.com/1/html");
    const policy = mail.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'/);
    expect(policy).not.toContain("script");
    expect(await mail.text()).toContain("<script>top.x = 1</script>");
  });

  it("gives the source byte for byte, as text", async () => {
    const source = `Subject: x\r\n\r\n${Buffer.from("é🚨<b>").toString("latin1")}`;
    const answer = await openPage([mailOf({ source })]).get("/mailboxes/ops%40example.com/1/source");
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await answer.text()).toBe("Subject: x\r\n\r\né🚨<b>");
  });

  it("queues a fault from its own form and from a script, and refuses nonsense and other sites", async () => {
    const { post, get, faults } = openPage([mailOf()]);
    const form = new URLSearchParams({ choice: "0", mailbox: "ops@example.com" });
    const foreign = await post("/faults", { body: form, headers: { origin: "http://evil.example" } });
    expect([foreign.status, faults.pending()]).toEqual([403, []]);
    const own = { origin: "http://stand-in.test" };
    const answer = await post("/faults", { body: form, headers: own });
    expect(answer.headers.get("location")).toBe("/mailboxes/ops%40example.com");
    expect(faults.pending()).toEqual([{ stage: "mail", kind: "drop", delivered: true, mailbox: "ops@example.com" }]);
    expect(await (await get("/mailboxes/ops%40example.com")).text()).toContain(
      "Waiting: takes the mail and loses the answer",
    );
    await post("/faults/clear", { body: new URLSearchParams(), headers: own });
    expect(faults.pending()).toEqual([]);

    const json = (body: unknown) =>
      post("/faults", { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
    expect((await json({ stage: "recipient", kind: 450, times: 2 })).status).toBe(201);
    expect(faults.pending()).toHaveLength(2);
    const fault = (stage: string, kind: string | number, times = 1) => ({ stage, kind, times });
    for (const wrong of [null, [], {}, fault("nowhere", "drop"), fault("mail", 250), fault("mail", "drop", 0)]) {
      expect((await json(wrong)).status).toBe(400);
    }
  });

  it("sends an event at once when something changes", async () => {
    const { get, inbox, page } = openPage();
    const reader = (await get("/events")).body?.getReader();
    const hear = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await hear()).toContain("event: change");
    inbox.add("ops@example.com", "a@x.example", mailOf(), at);
    expect(await hear()).toContain("event: change");
    page.close();
    expect((await reader?.read())?.done).toBe(true);
  });
});

describe("threads", () => {
  const threadsOf = (...mails: Partial<ParsedMail>[]) => {
    const inbox = createInbox([]);
    mails.forEach((mail, index) => {
      inbox.add("ops@example.com", "", mailOf({ messageId: `<${index}@x>`, ...mail }), at + index);
    });
    return groupThreads(inbox.mails()).map((thread) => thread.mails.map(({ id }) => id));
  };

  it("joins mails that name the same unseen root, in any order, the newest thread first", () => {
    expect(threadsOf({ references: ["<r@x>"] }, {}, { references: ["<r@x>"] })).toEqual([[1, 3], [2]]);
  });

  it("joins an answer to what it answers, and through a third", () => {
    expect(threadsOf({}, { inReplyTo: "<0@x>" }, { references: ["<1@x>"] }, {})).toEqual([[4], [1, 2, 3]]);
    expect(threadsOf({ references: ["<a@x>"] }, { references: ["<b@x>"] }, { references: ["<a@x>", "<b@x>"] })).toEqual(
      [[1, 2, 3]],
    );
  });

  it("does not join by subject, nor lose itself in a circle", () => {
    expect(threadsOf({ subject: "same" }, { subject: "same" })).toEqual([[2], [1]]);
    expect(threadsOf({ references: ["<1@x>"] }, { references: ["<0@x>", "<1@x>"] })).toEqual([[1, 2]]);
  });
});
