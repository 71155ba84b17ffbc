import { AppError } from "../../core/errors.ts";
import type { AlertOutputs } from "../../upstream/alerting-schemas.ts";

export type Outputs = Pick<AlertOutputs, "webhookUrl" | "messengerChannelId">;

export interface SetupWish {
  /** This relay's own hook; undefined where nobody knows its address, which only turning it off allows. */
  hookUrl?: string;
  /** Let the account send to no webhook, instead of to this relay. */
  webhookOff?: boolean;
  /** A channel id sets it, null clears it, `undefined` leaves it as it is. */
  channel?: string | null;
  /** Replace an address that is not this relay's. */
  takeOver: boolean;
}

export interface SetupPlan {
  before: Outputs;
  after: Outputs;
  /** The body of PUT /account; absent when everything is as wished already. A field that is not to change is not in it. */
  change?: Partial<Outputs>;
  /** The account sends to this relay already, perhaps under an older secret: what it had before is kept already. */
  isOurs: boolean;
}

/**
 * What setup would do. Pure.
 * @throws AppError `conflict` when the account sends to an address of somebody else's and nobody said `--take-over`.
 */
export function planSetup(before: Outputs, wish: SetupWish): SetupPlan {
  const { hookUrl, webhookOff = false } = wish;
  const ours = before.webhookUrl !== null && hookUrl !== undefined && isOwnHook(before.webhookUrl, hookUrl);
  if (before.webhookUrl !== null && !ours && !wish.takeOver) {
    throw new AppError(
      "conflict",
      `The account ${webhookOff ? "" : "already "}sends its alerts to ${shownAddress(before.webhookUrl)}${webhookOff ? ", and not to this relay" : ""}.`,
      {
        hint:
          hookUrl === undefined
            ? "Set PUBLIC_URL, so that this relay knows its own address, or say --take-over to turn it off whosever it is."
            : `If it may be ${webhookOff ? "turned off" : "replaced"}, say --take-over; --restore puts it back later.`,
      },
    );
  }
  const wanted = webhookOff ? null : (hookUrl ?? before.webhookUrl);
  const change: Partial<Outputs> = {};
  if (before.webhookUrl !== wanted) change.webhookUrl = wanted;
  if (wish.channel !== undefined && before.messengerChannelId !== wish.channel)
    change.messengerChannelId = wish.channel;
  return {
    before,
    after: { ...before, ...change },
    change: Object.keys(change).length > 0 ? change : undefined,
    isOurs: ours,
  };
}

/** The same relay, perhaps with an older secret. */
function isOwnHook(url: string, hookUrl: string): boolean {
  if (!URL.canParse(url)) return false;
  const given = new URL(url);
  const hook = new URL(hookUrl);
  // PUBLIC_URL may end in a path of its own.
  const folder = hook.pathname.slice(0, hook.pathname.lastIndexOf("/") + 1);
  return given.origin === hook.origin && given.pathname.startsWith(folder);
}

/** The path of a hook is its secret. */
function shownAddress(url: string): string {
  return URL.canParse(url) ? `${new URL(url).origin}/…` : "an address that cannot be read";
}

export function describeDifference(wanted: Outputs, found: Outputs): string | undefined {
  if (wanted.webhookUrl !== found.webhookUrl) return "the webhook's address";
  if (wanted.messengerChannelId !== found.messengerChannelId) return "the messenger channel";
  return undefined;
}
