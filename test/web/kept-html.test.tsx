import { describe, expect, test } from "vitest";
import type { LearnedName } from "../../src/core/subject-name.ts";
import { keepHtml } from "../../src/web/pages/kept-html.tsx";
import { attempt, createWebFixture } from "../support/web-fixture.ts";

const minute = 60_000;
const hour = 60 * minute;

interface WordProps {
  word: string;
  note?: { text: string };
}

/** A part that counts how often it was made. */
function createWord(most: number) {
  const made: string[] = [];
  const Word = keepHtml(({ word, note }: WordProps) => {
    made.push(word);
    return (
      <p title={note?.text}>
        <b>{word}</b>
      </p>
    );
  }, most);
  const write = (props: WordProps) => String(<Word {...props} />);
  return { write, made };
}

test("a part is made once for the same input, and anew for any other", () => {
  const { write, made } = createWord(10_000);
  expect(write({ word: "a < b" })).toBe("<p><b>a &lt; b</b></p>");
  expect(write({ word: "a < b" })).toBe("<p><b>a &lt; b</b></p>");
  expect(made).toHaveLength(1);
  expect(write({ word: "a < b", note: { text: "said" } })).toBe('<p title="said"><b>a &lt; b</b></p>');
  expect(write({ word: "a < b", note: { text: "unsaid" } })).toBe('<p title="unsaid"><b>a &lt; b</b></p>');
  expect(made).toHaveLength(3);
});

test("a long text among the input counts as the rest does", () => {
  const made: string[] = [];
  const Line = keepHtml(
    ({ name, svg }: { name: string; svg?: string }) => {
      made.push(name);
      return <p title={svg}>{name}</p>;
    },
    10_000,
    "svg",
  );
  const pages = [
    { name: "a" },
    { name: "a", svg: "<svg/>" },
    { name: "b", svg: "<svg/>" },
    { name: "a", svg: "<svg></svg>" },
  ];
  const first = pages.map((props) => String(<Line {...props} />));
  expect(new Set(first).size).toBe(4);
  expect(pages.map((props) => String(<Line {...props} />))).toEqual(first);
  expect(made).toHaveLength(4);
});

test("no more is kept than was allowed: what was not asked for longest goes first, and nothing that is large", () => {
  const { write, made } = createWord(10 * "<p><b>01</b></p>".length + 10 * '{"word":"01"}'.length);
  const words = Array.from({ length: 11 }, (_, number) => String(number).padStart(2, "0"));
  for (const word of words.slice(0, 10)) write({ word });
  write({ word: "00" });
  expect(made).toHaveLength(10);
  write({ word: "10" });
  write({ word: "00" });
  expect(made).toHaveLength(11);
  write({ word: "01" });
  expect(made).toHaveLength(12);
  const long = "long".repeat(20);
  write({ word: long });
  write({ word: long });
  expect(made).toHaveLength(14);
});

describe("the log shows with parts of earlier pages what it would show without", () => {
  const address = "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359";

  async function openLog() {
    const names = new Map<string, LearnedName>();
    const fixture = await createWebFixture({ learnedName: ({ token }) => names.get(token ?? "") });
    /** Made by a relay that has shown this page before, and by one that has shown none. */
    async function read(path = "/"): Promise<string> {
      const browser = await fixture.logIn();
      const answer = await browser.get(path);
      expect(answer.status).toBe(200);
      const page = await answer.text();
      expect(page).toBe(await fixture.getAnew(browser, path));
      return page;
    }
    return { ...fixture, names, read };
  }

  test("when alerts come, their deliveries go on, and hours and days pass", async () => {
    const { addAlert, store, clock, read } = await openLog();
    await addAlert({ facts: { title: "The first", value: "12", threshold: "10", alertKey: "volume" } });
    await addAlert({ facts: { title: "Another", severity: "info", alertKey: "other" } });
    expect(await read()).toContain("queued");
    await attempt(store, "ops", clock.now(), {
      outcome: "retry",
      detail: "Too Many Requests",
      next: { state: "waiting", reason: "Too Many Requests", dueAt: clock.now() + 3 * hour },
    });
    expect(await read()).toContain("Too Many Requests");
    await clock.advance(minute);
    await addAlert({ facts: { title: "The second", value: "13", threshold: "10", alertKey: "volume" } });
    const joined = await read();
    expect(joined).toContain("fired 2 times");
    expect(joined).not.toContain("The first");
    await clock.advance(26 * hour);
    await addAlert({ facts: { title: "The third", value: "14", threshold: "10", alertKey: "volume" } });
    expect(await read()).toMatch(/fired 3 times[\s\S]*?26 h ago/);
    await clock.advance(hour);
    expect(await read()).toMatch(/fired 3 times[\s\S]*?27 h ago/);
    await clock.advance(40 * hour);
    expect(await read("/?span=7d")).toMatch(/fired 3 times[\s\S]*?2 d ago/);
    await addAlert({ facts: { title: "It is over", status: "resolved", alertKey: "volume" } });
    expect(await read()).toContain("over");
    expect(await read("/?q=third")).toContain("<mark>third</mark>");
    expect(await read("/?q=the")).toContain("<mark>The</mark> third");
  });

  test("when a name is learned, and learned anew", async () => {
    const { addAlert, names, read } = await openLog();
    await addAlert({ facts: { title: `${address} fell`, token: address } });
    expect(await read()).toContain(`${address} fell`);
    names.set(address, { kind: "token", address, chain: "eth", name: "USDC", learnedAt: 0 });
    expect(await read()).toContain("USDC fell");
    names.set(address, { kind: "token", address, chain: "eth", name: "USDC.e", learnedAt: 1 });
    expect(await read()).toContain("USDC.e fell");
    names.delete(address);
    expect(await read()).toContain(`${address} fell`);
  });

  test("when the bars get another span, zone or step of time", async () => {
    const { addAlert, clock, read } = await openLog();
    await addAlert();
    expect(await read()).toContain("1 alert, 1 critical");
    await addAlert({ facts: { severity: "info" }, decisions: [{ route: "all", result: "not_matched", reason: "no" }] });
    expect(await read()).toContain("2 alerts, 1 critical, 1 info");
    expect(await read("/?severity=info")).toContain("1 alert, 1 info");
    expect(await read("/?span=1h")).toContain("2 alerts, 1 critical, 1 info");
    await clock.advance(2 * hour);
    expect(await read("/?span=1h")).not.toContain("2 alerts, 1 critical, 1 info");
    expect(await read()).toContain("2 alerts, 1 critical, 1 info");
  });
});
