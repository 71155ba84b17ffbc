import type { AccountView, StatusView, WatchView } from "../contract/operations.ts";
import type { WatchVerdict } from "../core/ports/watch.ts";
import { sentence } from "../ground/text/plain-text.ts";
import type { Card, Fact, Section, Tone } from "./panel.ts";
import { actsOf, factsOf, groupOf, noteDone } from "./sections.ts";

/** Green only where something was looked at and is in order. */
export const verdictTones: Record<WatchVerdict, Tone> = { well: "good", trouble: "bad", unknown: "busy", idle: "off" };

const verdictWords: Record<WatchVerdict, string> = {
  well: "well",
  trouble: "trouble",
  unknown: "cannot tell",
  idle: "idle",
};

export const putBackWords = {
  "put-back": "Put back, and read back: the account sends here again.",
  unchanged: "Nothing had to be put back.",
} as const;

/** @param done the result of the last action */
export function watchesPanel(
  { watches, account, sources }: Pick<StatusView, "watches" | "account" | "sources">,
  done?: keyof typeof putBackWords,
): Section | false {
  const cards = watches.map((watch) => {
    const source = sources.find(({ name }) => watch.name === `account:${name}`);
    return watchCard(watch, watch.name === "account" ? account : source?.account, source?.name);
  });
  if (cards.length === 0) return false;
  return groupOf({ title: "What it watches", id: "watches-title" }, [
    done && noteDone`${{ words: putBackWords[done] }}`,
    { kind: "cards", cards },
  ]);
}

type Account = Pick<AccountView, "answer" | "canPutBack">;

function watchCard(
  { name, verdict, summary, troubles, lookedAt }: WatchView,
  account: Account | undefined,
  source: string | undefined,
): Card {
  return {
    name,
    chip: verdictWords[verdict],
    tone: verdictTones[verdict],
    panel: [
      troubles.length === 0 && { kind: "text", text: `${sentence(summary)}.` },
      ...troubles.map((text) => ({ kind: "text", text }) as const),
      factsOf([
        ...(account?.answer ? accountFacts(account.answer) : []),
        ["looked", lookedAt !== undefined && { age: lookedAt }],
      ]),
      account?.canPutBack === true &&
        actsOf({
          label: "Put back: let the account send here",
          post: "/setup/put-back",
          fields: source === undefined ? {} : { source },
          isMain: true,
        }),
    ],
  };
}

function accountFacts(answer: NonNullable<Account["answer"]>): Fact[] {
  const { name, id, keyExpiresAt, webhook, webhookAddress = "", messengerChannelId } = answer;
  return [
    ["account", name ?? id ?? "not said"],
    ["sends to", webhook === undefined ? "not said" : targetWords[webhook](webhookAddress)],
    ["messenger channel", messengerChannelId === undefined ? "not said" : (messengerChannelId ?? "none")],
    ["key expires", keyExpiresAt === undefined ? "not said" : { at: keyExpiresAt, isComing: true }],
  ];
}

/** Where an account sends, by the relation of the address to this relay. */
export const targetWords: Record<
  NonNullable<NonNullable<Account["answer"]>["webhook"]>,
  (address: string) => string
> = {
  here: () => "this relay",
  stranger: (address) => `${address}, this relay, with a secret that it does not take`,
  elsewhere: (address) => `${address}, not to this relay`,
  answered: (address) => `${address}, another address than the registered one; this relay answers there`,
  nowhere: () => "no webhook",
};
