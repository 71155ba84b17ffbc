import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { type Outcome, reasonCodes } from "../../src/core/delivery.ts";
import type { SendContext } from "../../src/core/ports/channel.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";

/**
 * What every channel owes to the engine, over a real server on loopback that refuses as the vendor refuses:
 *
 * - `sent` means that people see the message once; `retry` and `rejected` mean that nobody has seen it;
 *   only `ambiguous` may be either. This holds in every situation, named or not.
 * - nothing throws, everything ends, an abort ends it at once, and no secret is in any outcome or on any output.
 */
export interface ChannelUnderTest {
  channel: Channel;
  recipient: string;
  /** A message of the channel's own kind with this text. */
  message(text: string): Message;
  /** A text at the vendor's limit, to be taken whole. */
  longestText: string;
  other: OtherSide;
  /** Every secret of the configuration, each a value that occurs nowhere by chance. */
  secrets: readonly string[];
  /** What this vendor's own conventions make of a situation, where it differs from `usualVerdicts`. */
  verdicts?: Partial<Record<Situation, Verdict>>;
  close(): Promise<void>;
}

export interface OtherSide {
  /** The texts that people have before them, oldest first. */
  seen(): readonly string[];
  /** Sets how calls go from now on. */
  meet(situation: Situation | "behaves"): void | Promise<void>;
  /** Resolves when a call that was begun after this has arrived whole. */
  nextCall(): Promise<unknown>;
}

export type Verdict = { kind: Outcome["kind"]; scope?: string; reason?: string };

const usualVerdicts = {
  asks_to_wait: { kind: "retry", reason: "rate_limited" },
  fails: { kind: "ambiguous", reason: "server_error" },
  is_unavailable: { kind: "retry", reason: "server_error" },
  refuses_the_account: { kind: "rejected", scope: "destination", reason: "auth_failed" },
  is_gone: { kind: "rejected", scope: "destination", reason: "gone" },
  refuses_the_message: { kind: "rejected", scope: "message" },
  redirects: { kind: "rejected", scope: "destination", reason: "address_moved" },
  echoes_everything: { kind: "rejected", scope: "message" },
  takes_and_hangs: { kind: "ambiguous", reason: "no_answer" },
  takes_and_resets: { kind: "ambiguous", reason: "connection_lost" },
  takes_and_breaks_off: { kind: "ambiguous" },
  speaks_garbage: { kind: "ambiguous", reason: "bad_answer" },
  is_unreachable: { kind: "retry", reason: "connect_failed" },
} satisfies Record<string, Verdict>;
export type Situation = keyof typeof usualVerdicts;
const situations = Object.keys(usualVerdicts) as Situation[];

const hostileTexts: readonly [string, string][] = [
  ["markup", '<b>not bold</b> *not bold* [link](https://evil.example) &amp; {"a":1} `x` ~~x~~ \\_'],
  ["another message's headers", "first\r\nBcc: everybody@example.com\r\n\r\nsecond"],
  ["direction and width", "\u202egnol\u202c \u200bzero\u200bwidth 👩‍👩‍👧‍👦 \u0e01\u0e33 𝕏"],
  ["mentions", "@everyone @here <!channel> <@U123> <@&1>"],
  ["separators", "a\u2028b\u2029c\td"],
  ["templates", "{{title}} {% raw %} <%= 7 * 7 %> $" + "{7 * 7} #{7 * 7} %TITLE% $HOME"],
];

/** What this vendor can do: what it cannot has no test, so that none is skipped. */
export interface ChannelTraits {
  /** Default: all. */
  situations?: readonly Situation[];
  /** Messages can be edited in place. */
  edits: boolean;
}

/** No verdict may hang on how busy the machine is: this only ends what would never end. */
export const patientMs = 240_000;
/** Limits for an answer that never comes. Where a busy machine could not even send in time, the next is tried. */
const impatientMs = [400, 4_000, 40_000];

/** `setUp` makes the channel with this limit for an answer, in milliseconds, and every other limit at `patientMs`. */
export function describeChannel(
  name: string,
  traits: ChannelTraits,
  setUp: (answerMs: number) => Promise<ChannelUnderTest>,
): void {
  const met = traits.situations ?? situations;

  describe(`channel ${name}`, () => {
    let subject: ChannelUnderTest;
    let outputs: Pick<MockInstance, "mock">[];

    beforeEach(async () => {
      outputs = [
        vi.spyOn(process.stdout, "write"),
        vi.spyOn(process.stderr, "write"),
        ...(["log", "warn", "error", "info", "debug"] as const).map((method) => vi.spyOn(console, method)),
      ];
      subject = await setUp(patientMs);
    });

    const tearDown = async () => {
      await subject.channel.close();
      await subject.close();
    };

    afterEach(async () => {
      const written = outputs.flatMap(({ mock }) => mock.calls.map((words) => inspect(words)));
      vi.restoreAllMocks();
      await tearDown();
      expectNoSecret(written.join("\n"), subject.secrets);
    });

    const send = async (text: string, over: Partial<SendContext> = {}): Promise<Outcome> => {
      const before = subject.other.seen().length;
      const outcome = await subject.channel.send(
        subject.message(text),
        contextOf(subject, { deliveryId: `${deliveryId}${before}`, ...over }),
      );
      expectWellFormed(outcome, subject.secrets);
      expectHonest(outcome, subject.other.seen().length - before);
      return outcome;
    };

    /** Sends what arrives and is never answered. */
    const sendIntoSilence = async (text: string): Promise<Outcome> => {
      for (const answerMs of impatientMs) {
        await tearDown();
        subject = await setUp(answerMs);
        await subject.other.meet("takes_and_hangs");
        let hasArrived = false;
        void subject.other.nextCall().then(() => {
          hasArrived = true;
        });
        const outcome = await send(text);
        if (hasArrived) return outcome;
      }
      throw new Error("nothing arrived at the other side, however long the limit");
    };

    it.each<[string, string | undefined, Partial<SendContext>?]>([
      ["sends a message that people then see", "TVL of GHO fell below 1.10"],
      ["sends a message without a sound when asked to", "quietly", { silent: true }],
      ["sends a message at the vendor's limit whole", undefined],
      ...hostileTexts.map(([what, text]): [string, string] => [`shows hostile text as it is: ${what}`, text]),
    ])("%s", async (_what, text = subject.longestText, over = {}) => {
      expect(await send(text, over)).toMatchObject({ kind: "sent" });
      expect(subject.other.seen().map(unifyLineEnds)).toEqual([unifyLineEnds(text)]);
    });

    it("carries ten messages at once, each once", async () => {
      const texts = Array.from({ length: 10 }, (_, index) => `alert number ${index}`);
      const outcomes = await Promise.all(
        texts.map((text, index) =>
          subject.channel.send(subject.message(text), contextOf(subject, { deliveryId: `${deliveryId}${index}` })),
        ),
      );
      expect(outcomes.map(({ kind }) => kind)).toEqual(texts.map(() => "sent"));
      expect([...subject.other.seen()].sort()).toEqual(texts);
    });

    it.for([...met])("tells truly what happened when the other side %s", async (situation) => {
      await subject.other.meet(situation);
      const ask = situation === "takes_and_hangs" ? sendIntoSilence : send;
      expect(await ask("what becomes of me?")).toMatchObject(subject.verdicts?.[situation] ?? usualVerdicts[situation]);
    });

    const asksToWait = met.includes("asks_to_wait") ? ["asks_to_wait" as const] : [];
    it.for(asksToWait)("hands on how long it is asked to wait, without counting it as an attempt", async () => {
      await subject.other.meet("asks_to_wait");
      const outcome = await send("too fast");
      if (outcome.kind !== "retry") throw new Error(`expected a retry, got ${outcome.kind}`);
      expect(outcome.waitMs).toBeGreaterThanOrEqual(askedWaitMs);
      expect(outcome.countsAsAttempt).toBe(false);
    });

    it.each([
      ["is stopped before it begins", { signal: AbortSignal.abort() }, {}],
      ["may not call any more by the time it could", { mayCall: () => false }, { reason: "process_stopped" }],
    ])("sends nothing when it %s", async (_when, over, why) => {
      expect(await send("too late", over)).toMatchObject({ kind: "retry", ...why });
      expect(subject.other.seen()).toEqual([]);
    });

    it("ends at once when it is stopped after the message has left, leaves open what happened, and goes on as before", async () => {
      await subject.other.meet("takes_and_hangs");
      const controller = new AbortController();
      const arrived = subject.other.nextCall();
      const during = send("during", { signal: controller.signal });
      await arrived;
      controller.abort();
      expect(await during).toMatchObject({ kind: "ambiguous", reason: "process_stopped" });
      await subject.other.meet("behaves");
      expect(await send("afterwards")).toMatchObject({ kind: "sent" });
      expect(subject.other.seen()).toEqual(["during", "afterwards"]);
    });

    it.each([
      ["without anybody noticing", "behaves", patientMs, "sent"],
      ["that the other side cannot be reached, and never calls it ambiguous", "is_unreachable", patientMs, "retry"],
      ["no longer when it is stopped", "behaves", 0, "retry"],
    ] as const)("probes %s", async (_how, situation, withinMs, kind) => {
      if (situation === "is_unreachable") await subject.other.meet(situation);
      const signal = withinMs > 0 ? AbortSignal.timeout(withinMs) : AbortSignal.abort();
      const outcome = await subject.channel.probe(subject.recipient, signal);
      expectWellFormed(outcome, subject.secrets);
      expect(outcome.kind).toBe(kind);
      expect(subject.other.seen()).toEqual([]);
    });

    it(traits.edits ? "edits a message in place" : "claims no edit that it cannot make", async () => {
      const { channel } = subject;
      expect(channel.edit !== undefined).toBe(traits.edits);
      if (channel.edit === undefined) return;
      const sent = await send("firing");
      if (sent.kind !== "sent" || sent.ref === undefined) throw new Error("nothing to edit it by");
      const edited = await channel.edit(sent.ref, subject.message("resolved"), contextOf(subject, {}));
      expectWellFormed(edited, subject.secrets);
      expect(edited.kind).toBe("sent");
      expect(subject.other.seen()).toEqual(["resolved"]);
    });

    it("takes a second close", async () => {
      await subject.channel.close();
      await subject.channel.close();
    });
  });
}

/** What `asks_to_wait` asks for. */
export const askedWaitMs = 7_000;

const deliveryId = "01939d2f-0000-7000-8000-00000000000";

const contextOf = (subject: ChannelUnderTest, over: Partial<SendContext>): SendContext => ({
  recipient: subject.recipient,
  deliveryId: `${deliveryId}0`,
  alertId: "01939d2f-0000-7000-8000-00000000a1e7",
  receivedAt: 1_763_700_000_000,
  threadKey: "tvl:gho",
  silent: false,
  signal: AbortSignal.timeout(patientMs),
  mayCall: () => true,
  ...over,
});

/** An outcome is a line for a person, a reason that the page can group by, and no secret. */
function expectWellFormed(outcome: Outcome, secrets: readonly string[]): void {
  expectNoSecret(JSON.stringify(outcome), secrets);
  if (outcome.kind === "sent") return;
  expect(reasonCodes).toContain(outcome.reason);
  expect(outcome.detail).not.toBe("");
  expect(outcome.detail.length).toBeLessThanOrEqual(300);
  expect(outcome.detail).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e]/u);
  if ("waitMs" in outcome && outcome.waitMs !== undefined) expect(outcome.waitMs).toBeGreaterThanOrEqual(0);
}

/** The heart of the promise: an outcome never says more than what people see. */
function expectHonest({ kind }: Outcome, newlySeen: number): void {
  const seen: Record<Outcome["kind"], number[]> = { sent: [1], retry: [0], rejected: [0], ambiguous: [0, 1] };
  expect(seen[kind]).toContain(newlySeen);
}

function expectNoSecret(text: string, secrets: readonly string[]): void {
  expect(secrets.length).toBeGreaterThan(0);
  for (const secret of secrets) expect(text).not.toContain(secret);
}

const unifyLineEnds = (text: string): string => text.replaceAll("\r\n", "\n");
