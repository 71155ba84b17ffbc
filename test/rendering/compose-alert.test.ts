import { describe, expect, it } from "vitest";
import type { Alert } from "../../src/core/alert.ts";
import type { MessageContext } from "../../src/core/message-context.ts";
import { readableText } from "../../src/vendors/index.ts";
import { createRendering } from "../support/rendering.ts";
import { fullFacts, makeAlert, makeContext, minuteMs, publicUrl, receivedAt } from "./sample.ts";

function textOf(alert: Alert, context: Partial<MessageContext> = {}, url: string | undefined = publicUrl): string {
  const rendering = createRendering(url === "" ? {} : { publicUrl: url });
  const document = rendering.composeAlert(alert, makeContext(context));
  const options = { form: "plain", timeZone: "Europe/Zurich" } as const;
  return rendering.renderDocument("telegram", document, options).map(readableText).join("\n");
}

describe("a composed alert", () => {
  it("shows nothing that the body does not offer", () => {
    const text = textOf(makeAlert({ facts: { title: "T", severity: "unknown", status: "unknown" } }));
    expect(text).toBe(`🔔 T\nOpen in Tocsin: ${publicUrl}/alerts/01939a5c-1b2d-7c3e-8f4a-5b6c7d8e9f00`);
  });

  it("shows the instants of a notice in the zone of its destination, and those of a sender as sent", () => {
    const words = "Since 21 Nov 2026, 02:20:05 UTC: no answer.";
    const facts = { title: "T", severity: "warning", status: "firing", text: words } as const;
    const now = Date.UTC(2026, 10, 21, 3);
    expect(textOf(makeAlert({ origin: "notice", facts }), { now })).toContain("\nSince 03:20 CET: no answer.");
    const later = textOf(makeAlert({ origin: "notice", facts }), { now: now + 86_400_000 });
    expect(later).toContain("\nSince 21 Nov 2026, 03:20:05 CET: no answer.");
    expect(textOf(makeAlert({ facts }), { now })).toContain(words);
  });

  it("shows no piece of raw JSON that is too long for a chat", () => {
    const text = `{"title": "Report", "rows": [${'{"tvl":0.1},'.repeat(400)}`;
    expect(textOf(makeAlert({ facts: { title: "Report", format: "broken-json", text } }))).not.toContain("tvl");
  });

  it("names a metric only where the title does not", () => {
    const title = "USDC on eth: total TVL 3 USD (above 2)";
    expect(textOf(makeAlert({ facts: { title, metric: "total TVL" } }))).not.toContain("Metric");
    expect(textOf(makeAlert({ facts: { title, metric: "eth_tvl" } }))).toContain("Metric: eth_tvl");
  });

  it.each([
    [1, undefined],
    [2, "2nd time since 02:02 CET"],
    [3, "3rd time since 02:02 CET"],
    [11, "11th time since 02:02 CET"],
    [21, "21st time since 02:02 CET"],
    [112, "112th time since 02:02 CET"],
  ])("counts %d events of the same key", (count, expected) => {
    const text = textOf(makeAlert(), {
      history: { count, firstAt: receivedAt - 60 * minuteMs, lastAt: receivedAt },
    });
    if (expected === undefined) expect(text).not.toContain("time since");
    else expect(text).toContain(expected);
  });

  it("counts the duration from the first time, though the message has come to show the last repeat", () => {
    const minutesOn = (minutes: number) => receivedAt + minutes * minuteMs;
    const resolvedBy = makeAlert({ receivedAt: minutesOn(18), facts: { status: "resolved" } });
    const text = textOf(makeAlert({ receivedAt: minutesOn(17), facts: { value: "7" } }), {
      resolvedBy,
      now: resolvedBy.receivedAt,
      history: { count: 3, firstAt: receivedAt, lastAt: minutesOn(17) },
    });
    expect(text).toContain(", after 18 min; it fired 3 times");
    expect(text).toContain("\n7\n");
  });

  it.each([-60, 60])("does not believe a sender's clock that is %i minutes off", (minutes) => {
    const resolvedBy = makeAlert({
      receivedAt: receivedAt + 8 * minuteMs,
      facts: { occurredAt: receivedAt + minutes * minuteMs },
    });
    expect(textOf(makeAlert(), { resolvedBy })).toContain("Over since 03:10 CET, after 8 min\n");
  });

  describe("that says that it is over", () => {
    const resolved = makeAlert({
      receivedAt: receivedAt + 8 * minuteMs,
      facts: { ...fullFacts, status: "resolved", value: "25320000", previousValue: "4812345", occurredAt: undefined },
    });

    it("claims no duration where nothing was sent before, and does not say the state twice", () => {
      const facts = { title: "[RESOLVED] Health factor of the vault", status: "resolved" as const };
      expect(textOf(makeAlert({ facts }))).toMatch(/^✅ Over: Health factor of the vault\n/);
    });

    it("says that it fires again, when it comes later than that", () => {
      expect(textOf(resolved, { firesAgainAt: receivedAt + 9 * minuteMs })).toContain("It fires again since 03:11 CET");
    });

    it("is shown whole when a person asks for it, and when its body could not be read for certain", () => {
      expect(textOf(resolved, { purpose: "resend", detail: "full" })).toContain("sub_8841");
      const facts = { status: "resolved", format: "broken-json", text: '{"state": "ok"' } as const;
      expect(textOf(makeAlert({ facts }))).toMatch(/^✅ Resolved: /);
    });
  });

  it("gives the sender's time only where it is another than ours, and says by how much", () => {
    const near = textOf(makeAlert({ facts: { occurredAt: receivedAt - minuteMs } }));
    expect(near).not.toMatch(/When:|Received:/);
    const far = textOf(makeAlert({ facts: { occurredAt: receivedAt - 20 * 60 * minuteMs } }));
    expect(far).toContain("When: 20 Nov 2026, 07:02:05 CET, 20 h before it was received");
    const ahead = textOf(makeAlert({ facts: { occurredAt: receivedAt + 10 * minuteMs } }));
    expect(ahead).toContain("When: 03:12 CET, 10 min after it was received");
  });

  it("says when it was received where the message comes later than that", () => {
    const late = { now: receivedAt + 12 * minuteMs };
    expect(textOf(makeAlert(), late)).toContain("Received: 03:02 CET");
    expect(textOf(makeAlert())).not.toContain("Received:");
  });

  it("dates a time that is not of today", () => {
    const text = textOf(makeAlert(), { now: receivedAt + 30 * 60 * minuteMs });
    expect(text).toContain("Received: 21 Nov 2026, 03:02:05 CET");
  });

  it("does not say twice what the title says", () => {
    const text = textOf(makeAlert({ facts: { title: "A depeg", text: "A depeg\nNow 0.98" } }));
    expect(text.match(/A depeg/g)).toHaveLength(1);
    expect(text).toContain("> Now 0.98");
  });

  it("says behind a bare name what has happened, where a lock screen has room for it, and not again below", () => {
    const first = (facts: Partial<Alert["facts"]>) => textOf(makeAlert({ facts })).split("\n", 1)[0];
    const name = { title: "quotes", text: "Connection Timeout" };
    expect(first(name)).toBe("🚨 quotes: Connection Timeout");
    expect(textOf(makeAlert({ facts: name })).match(/Connection Timeout/g)).toHaveLength(1);
    expect(first({ title: "ETH RPC", text: "[ETH RPC] [🔴 Down] refused" })).toBe("🚨 ETH RPC is down: refused");
    expect(first({ ...name, text: "x".repeat(110) })).toBe("🚨 quotes");
    expect(first({ title: "The quotes stopped this morning", text: "Timeout" })).toBe(
      "🚨 The quotes stopped this morning",
    );
    expect(first({ ...name, format: "broken-json" })).toBe("🚨 quotes");
    expect(first({ ...name, status: "resolved" })).toBe("✅ Over: quotes");
  });

  it("keeps the sender's lines from passing for ours", () => {
    const text = textOf(
      makeAlert({
        facts: {
          title: "A\n✅ Resolved: B",
          text: "x\n✅ Resolved: all is well\nOpen in Tocsin: https://evil.example",
          fields: [{ name: "f\nOpen in Tocsin", value: "v\nOpen in Tocsin: https://evil.example" }],
        },
      }),
    );
    const ours = text.split("\n").filter((line) => /^(✅|Open in Tocsin)/.test(line));
    expect(ours).toEqual([`Open in Tocsin: ${publicUrl}/alerts/01939a5c-1b2d-7c3e-8f4a-5b6c7d8e9f00`]);
  });

  it("shows a reader what the translator had to cut, and keeps its guesses for the page", () => {
    const notes = ["the text is cut from 40,000 characters to 20,000"];
    expect(textOf(makeAlert({ facts: { notes } }))).not.toContain("cut from");
    expect(textOf(makeAlert({ facts: { notes, text: "x".repeat(20_000) } }))).not.toContain("cut from");
    const whole = textOf(makeAlert({ facts: { notes, text: "x".repeat(20_000) } }), { detail: "full" });
    expect(whole).toContain("The text is cut from 40,000");
  });

  it("shows the id where no page is known to link to", () => {
    const text = textOf(makeAlert(), {}, "");
    expect(text).toMatch(/\nAlert 01939a5c-1b2d-7c3e-8f4a-5b6c7d8e9f00$/);
    expect(text).not.toContain("http");
  });
});

function mailSubjectOf(facts: object, context: Partial<MessageContext> = {}): string {
  const rendering = createRendering();
  const document = rendering.composeAlert(makeAlert({ facts }), makeContext(context));
  const [mail] = rendering.renderDocument("email", document, { form: "rich", timeZone: "UTC" });
  return mail?.kind === "email" ? mail.subject : "";
}

/** What remains of a subject when mail programs compare it (RFC 5256, 2.1): no bracketed words before the rest. */
function baseOf(subject: string): string {
  return subject.replace(/^(\[[^[\]]*\]\s*)+(?=.)/, "");
}

describe("subjects of mails about one alert", () => {
  const facts = { title: "USDC total TVL" };

  it("have one base, whatever has become of the alert, so that they stand in one conversation", () => {
    const subjects = [
      mailSubjectOf({ ...facts, severity: "critical" }),
      mailSubjectOf({ ...facts, severity: "warning" }),
      mailSubjectOf({ ...facts, severity: "info" }),
      mailSubjectOf({ ...facts, status: "resolved" }),
      mailSubjectOf({ ...facts, severity: "critical" }, { possibleRepeat: true }),
      mailSubjectOf(facts, { purpose: "test" }),
    ];
    expect(new Set(subjects).size).toBe(6);
    expect(new Set(subjects.map(baseOf))).toEqual(new Set(["USDC total TVL"]));
  });

  it("say the state first, for the locked phone", () => {
    expect(mailSubjectOf({ ...facts, status: "resolved" })).toBe("[Over] USDC total TVL");
  });

  it("do not say twice what the title says", () => {
    expect(mailSubjectOf({ title: "Critical: TVL", severity: "critical" })).toBe("Critical: TVL");
    expect(mailSubjectOf({ title: "Critical: TVL", status: "resolved" })).toBe("[Over] Critical: TVL");
  });
});
