import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { Document } from "../../src/core/message.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { readableText, vendors } from "../../src/vendors/index.ts";
import { composeNotifications } from "../../workshop/service/notification.ts";
import { notificationShapes } from "../../workshop/service/options.ts";
import { createRendering } from "../support/rendering.ts";
import { fullFacts, makeAlert, makeContext, minuteMs, publicUrl, receivedAt } from "./sample.ts";

const rendering = createRendering({ publicUrl });
const timeZone = "Europe/Zurich";
const payloads = new URL("../fixtures/payloads/", import.meta.url);

function showEverywhere(name: string, document: Document): string {
  const shown = vendors.map(({ type }) => {
    const texts = rendering.renderDocument(type, document, { form: "rich", timeZone }).map(readableText);
    return `=== ${name}, ${type}\n${texts.join("\n---\n")}`;
  });
  return shown.join("\n\n");
}

function firstLineOf(facts: AlertFacts): string {
  const document = rendering.composeAlert(makeAlert({ facts }), makeContext());
  const [message] = rendering.renderDocument("telegram", document, { form: "plain", timeZone });
  return (message === undefined ? "" : readableText(message)).split("\n", 1)[0] ?? "";
}

function typeOf(file: string): string {
  if (file.endsWith(".json")) return "application/json";
  return file.startsWith("form") ? "application/x-www-form-urlencoded" : "text/plain";
}

/** What the market-data service may send, as the sandbox does. */
function serviceAlerts(): [string, AlertFacts][] {
  const event = {
    id: "e1",
    accountId: "a",
    subscriptionId: "sub_1",
    at: receivedAt,
    status: "firing" as const,
    severity: "critical" as const,
    metricKey: "polygon_pool_total_tvl_0x0b92aaaabbbbccccddddeeeeffff00001111c1e0",
    metricName: "pool TVL",
    unit: "USD",
    chain: "polygon",
    tokenSymbol: "ONYX504",
    tokenAddress: "0x0b92aaaabbbbccccddddeeeeffff00001111c1e0",
    condition: "below",
    value: 18623.426,
    previousValue: 20282.771,
    threshold: 19000,
    link: "https://market.example.com/x",
  };
  const over = { ...event, status: "resolved" as const, value: 19400.5, previousValue: 18623.426 };
  const moved = { ...event, condition: "change_percent", threshold: 2.5 };
  return [event, over, moved].flatMap((one) =>
    notificationShapes.flatMap((shape) =>
      composeNotifications(shape, [one]).flatMap(({ body, contentType }) =>
        translateRequest(Buffer.from(body), contentType).map(({ facts }): [string, AlertFacts] => [
          `${shape} ${one.condition} ${one.status}`,
          facts,
        ]),
      ),
    ),
  );
}

describe("messages, read by eye", () => {
  it("say the same in every channel", async () => {
    const over = { ...fullFacts, status: "resolved", value: "5012000", previousValue: "4812345.67" } as const;
    const history = { count: 2, firstAt: receivedAt - 18 * minuteMs, lastAt: receivedAt };
    const alerts = [1, 2, 3].map((seq) =>
      makeAlert({
        seq,
        receivedAt: receivedAt + seq * 700,
        facts: { ...fullFacts, alertKey: `${seq}`, value: `${seq}e6` },
      }),
    );
    const notice = {
      title: "desk gets no alerts",
      text: "The bot was removed from the group. Add the bot back and let it post.",
    };
    const shown = [
      showEverywhere("an alert", rendering.composeAlert(makeAlert({ facts: fullFacts }), makeContext({ history }))),
      showEverywhere("its end", rendering.composeAlert(makeAlert({ facts: over }), makeContext({ history }))),
      showEverywhere(
        "a digest",
        rendering.composeDigest(alerts, {
          now: receivedAt,
          reason: "burst",
          possibleRepeat: false,
          destination: "desk",
        }),
      ),
      showEverywhere(
        "a notice",
        rendering.composeAlert(makeAlert({ origin: "notice", facts: notice }), makeContext({ purpose: "notice" })),
      ),
    ];
    await expect(`${shown.join("\n\n")}\n`).toMatchFileSnapshot("golden/every-channel.txt");
  });

  it("fence off in every channel what runs from right to left", () => {
    const facts = { title: "تنبيه عاجل", token: "שקל", value: "4.5", previousValue: "5.2", unit: "دينار" };
    const document = rendering.composeAlert(makeAlert({ facts }), makeContext());
    for (const { type } of vendors) {
      const [message] = rendering.renderDocument(type, document, { form: "rich", timeZone });
      const shown = message === undefined ? "" : readableText(message);
      expect(shown, type).toContain("\u2068تنبيه عاجل\u2069: \u2068שקל\u2069 4.5 \u2068دينار\u2069, −13.5 %");
    }
  });

  it("say on a lock screen what has happened to what", async () => {
    const read = readdirSync(payloads)
      .filter((file) => !file.includes(".facts."))
      .sort()
      .flatMap((file) =>
        translateRequest(readFileSync(new URL(file, payloads)), typeOf(file)).map(({ facts }): [string, AlertFacts] => [
          file,
          facts,
        ]),
      );
    const lines = [...read, ...serviceAlerts()].map(
      ([name, facts]) => `${name}\n  ${firstLineOf(facts).slice(0, 110)}`,
    );
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("golden/lock-screen.txt");
  });
});

it.each(vendors.map(({ type }) => type))("shows the title of a route in %s", (type) => {
  const extras = { title: "USDC <b>−5.7 %</b> in eth" };
  const document = rendering.composeAlert(makeAlert({ facts: fullFacts }), makeContext({ extras }));
  const shown = rendering.renderDocument(type, document, { form: "rich", timeZone });
  expect(shown.map(readableText).join("\n")).toContain("−5.7 %");
  if (type === "email")
    expect(shown).toMatchObject([{ html: expect.stringContaining("&lt;b&gt;−5.7 %&lt;/b&gt; in eth") }]);
});

it("has it in the subject of a mail, with its state in brackets, also when it is over", () => {
  const extras = { title: "USDC −5.7 % in eth" };
  const subjectOf = (status: "firing" | "resolved") =>
    rendering.composeAlert(
      makeAlert({ facts: { ...fullFacts, status } }),
      makeContext({ extras, history: { count: 1, firstAt: receivedAt - 8 * minuteMs, lastAt: receivedAt } }),
    ).mailSubject;
  expect(subjectOf("firing")).toBe("[Critical] USDC −5.7 % in eth");
  expect(subjectOf("resolved")).toBe("[Over after 8 min] USDC −5.7 % in eth");
});
