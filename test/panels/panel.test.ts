import { expect, it } from "vitest";
import { deliveriesPanel } from "../../src/panels/alert.ts";
import type { Panel } from "../../src/panels/panel.ts";
import { say } from "../../src/panels/sections.ts";
import { tryPanel } from "../../src/panels/setup.ts";
import { testPanel } from "../../src/panels/test.ts";
import { draw, now } from "./draw.ts";

const hostile = "<b>desk\u001b[31m";

const panel: Panel = [
  false,
  {
    kind: "note",
    note: "failed",
    text: say`${hostile} does not answer, and whatever comes for it waits until it does.`,
  },
  {
    kind: "facts",
    title: "The relay",
    rows: [
      ["state", { chip: "not ready", tone: "bad" }],
      ["started", { at: now - 3_600_000 }],
      ["spool", undefined],
      ["alerts", 1234],
    ],
  },
  {
    kind: "table",
    title: hostile,
    columns: [
      { title: "how sure" },
      { title: "key", where: "page" },
      { title: "note", optional: true },
      { title: "why" },
    ],
    rows: [[{ chip: "sure", tone: "bad" }, "k", "", say`sure of it: ${hostile}`]],
  },
  {
    kind: "cards",
    cards: [
      {
        name: "hook",
        chip: "silent",
        tone: "bad",
        panel: [{ kind: "facts", rows: [["last", { age: now - 7_200_000 }]] }],
      },
    ],
  },
  { kind: "text", where: "page", text: "for the page alone" },
  { kind: "acts", acts: [{ label: "Look now", post: "/look", command: "tocsin look" }] },
];

it("a panel is text for people: broken between words, safe, without what is for the page alone", () => {
  expect(draw(panel, 40)).toMatchInlineSnapshot(`
    "<b>desk\\x1b[31m does not answer, and
    whatever comes for it waits until it
    does.

    The relay
    state    not ready
    started  2026-11-21T11:00:00Z (1 h ago)
    alerts   1,234

    <b>desk\\x1b[31m
    how sure  why
    sure      sure of it: <b>desk\\x1b[31m

    hook  silent; last 2 h ago

    Look now: npx tocsin look
    "
  `);
  for (const line of draw(panel, 80).split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(draw(panel)).not.toContain("\u001b");
});

it("colours mark what is wrong on a terminal, and nothing of a stranger's", () => {
  const coloured = draw(panel, 80, { FORCE_COLOR: "1" });
  expect(coloured).toContain("\u001b[31mnot\u001b[39m \u001b[31mready\u001b[39m");
  for (const words of ["\u001b[31msilent\u001b[39m; last 2 h ago", "\\x1b[31m"]) expect(coloured).toContain(words);
});

it("says what became of a test, and how to try an address, in the same words in a terminal as on the page", () => {
  const attempts = [{ detail: `${hostile} refused.`, reason: "kicked" }];
  const base = { destination: "desk", recipient: "-1001", channel: "telegram", reason: "", attempts: [] };
  const deliveries = [
    { ...base, state: "sent", finishedAt: now - 1_000 },
    { ...base, state: "failed", attempts },
    { ...base, state: "queued" },
  ] as const;
  const panel = testPanel({ id: "a1", receivedAt: now - 3_000, deliveries }, () => "tocsin.yaml:3");
  expect(draw(panel)).toBe(
    `The test has reached desk (-1001) after 2 s. Look whether it can be seen there.

The test did not reach desk (-1001): <b>desk\\x1b[31m refused. Add the bot back and let it post.

The test is on its way to desk (-1001).
`,
  );
  const tried = draw(tryPanel("http://127.0.0.1:8080/hooks/…", { isRevealed: false }));
  expect(tried).toMatch(
    /^Try it\nnpx tocsin test sends one marked alert[\s\S]*\ncurl -d '.*' http:\/\/127\.0\.0\.1:8080\/hooks\/…\n/,
  );
});

it("says of a delivery that it waits with others, and no cause of a wait where nobody knows when Tocsin ran", () => {
  const attempt = { at: now, outcome: "retry", action: "send", part: 1, parts: 1, durationMs: 9, detail: "503" };
  const base = { channel: "webhook", recipient: "desk", purpose: "alert", reason: "503", createdAt: now - 90_000 };
  const delivery = { ...base, id: "d1", destination: "desk", state: "waiting", digestId: "g1", attempts: [attempt] };
  const alert = { id: "a1", receivedAt: now - 90_000, decisions: [], deliveries: [delivery] } as never;
  const drawn = (more: object) => draw(deliveriesPanel(alert, { now, ...more }));
  expect(drawn({})).toContain("in a digest");
  const alone = { ...delivery, digestId: undefined };
  Object.assign(alert, { deliveries: [alone] });
  expect(drawn({})).not.toMatch(/in a digest|for its turn/);
  expect(drawn({ downtimes: [] })).toContain("waited 1 min for its turn");
});
