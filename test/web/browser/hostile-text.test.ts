import { expect, test } from "vitest";
import type { AlertFacts } from "../../../src/core/alert.ts";
import { chat } from "../../routing/sample.ts";
import type { Page } from "../../support/browser.ts";
import { attempt, type WebFixture } from "../../support/web-fixture.ts";
import { openAt, serveWebFixture } from "../../support/web-server.ts";

const naughty = [
  `"><script>document.title="owned"</script>`,
  `'><img src=x onerror=document.title="owned">`,
  `</title></textarea></pre></style><svg onload=document.title="owned">`,
  `{{7*7}} \${7*7} <%= 7*7 %> javascript:document.title="owned"`,
  `\u202egnp.exe\u2066 \u0000 \u2028 \u001b[31m`,
  `" autofocus onfocus="document.title='owned'" x="`,
  `--><!--[if]><!DOCTYPE x [<!ENTITY e "x">]>&lt;b&gt;&amp;&#0;`,
];

/** One alert with the same text in every field that a sender, a vendor, a person or the configuration fills. */
async function addEverywhere({ addAlert, store, clock, destinations }: WebFixture, text: string) {
  const ofText = "text metric token chain value previousValue threshold unit externalId source".split(" ");
  const facts: Partial<AlertFacts> = {
    ...Object.fromEntries(ofText.map((fact) => [fact, text])),
    ...{ title: text || "x", alertKey: text || "x", format: "broken-json", link: `https://example.com/${text}` },
    ...{ fields: [{ name: text, value: text }], notes: [text] },
  };
  const { id } = await addAlert({
    facts,
    // A NUL would have the body shown as bytes, in other elements.
    body: text.replaceAll("\u0000", ""),
    contentType: text,
    dedupeKey: text,
    headers: [[text, text]],
    deliveries: [{ destination: text, recipient: text, route: text, reason: text }],
    decisions: [{ route: text, destination: text, result: "deliver", reason: text }],
  });
  await attempt(store, text, clock.now(), {
    ...{ outcome: "retry", reason: "rate_limited", detail: text, parts: 2 },
    next: { state: "waiting", reason: text, dueAt: clock.now() + 1_000 },
  });
  // Into the store itself, since a field of such a name is refused.
  await store.addMute({
    id: `mute-of-${id}`,
    matchers: [{ field: text, condition: { equals: [text], matches: text } }],
    reason: text,
    startsAt: clock.now(),
    createdAt: clock.now(),
    endsAt: clock.now() + 1_000_000,
    createdBy: "page",
  });
  const own = { kind: "destination", name: text, health: "dead", reason: text, since: 0, failures: 0 } as const;
  const destination = chat(text, { chatId: text, definedAt: text });
  destinations.splice(0, destinations.length, { destination, own: { ...own, moved: { from: text, to: text } } });
  return id;
}

/** Every element with the names of its attributes: what text must never change. */
async function skeletonOf(page: Page, url: string): Promise<string[]> {
  await page.goto(url);
  return (await page.evaluate(
    // How the connection is, and that bars are still being counted, come and go by themselves.
    `[...document.querySelectorAll("*:not(#lost, [data-counting])")].map((element) =>
       [element.tagName, ...[...element.attributes].map(({ name }) => name).filter((name) => name !== "data-stream")].join(" "))`,
  )) as string[];
}

async function skeletons(text: string): Promise<{ skeletons: string[][]; titles: string[] }> {
  const fixture = await serveWebFixture();
  const id = await addEverywhere(fixture, text);
  const page = await openAt(fixture.url);
  const filter = encodeURIComponent(text);
  const paths = ["/", `/?q=zzzz&severity=${filter}&destination=${filter}`, `/alerts/${id}`, "/destinations", "/mutes"];
  const found: string[][] = [];
  const titles: string[] = [];
  for (const path of paths) {
    found.push(await skeletonOf(page, fixture.url + path));
    titles.push(await page.title());
  }
  return { skeletons: found, titles };
}

test("no text of a sender becomes an element, an attribute or a script, in any field of any page", async () => {
  const harmless = await skeletons("harmless");
  for (const text of naughty) {
    const hostile = await skeletons(text);
    hostile.skeletons.forEach((skeleton, index) => {
      expect(skeleton).toEqual(harmless.skeletons[index]);
    });
    expect(hostile.titles).not.toContain("owned");
  }
});
