import { AppError } from "../../core/errors.ts";
import { showAddress } from "../../ground/net/shown-address.ts";
import type { LastRun, Outputs, SavedOutputs } from "./records.ts";

export interface SetupWish {
  /** What the account is to send to: this relay's own hook, or null for no webhook. */
  webhookUrl: string | null;
  /** How the outside reaches this relay; absent: nobody has said, and no address is known to be its own. */
  publicUrl?: string;
  /** A channel id sets it, null clears it, `undefined` leaves it as it is. */
  channel?: string | null;
  /** Replace or turn off an address that is not this relay's. */
  takeOver?: boolean;
  /** The account's address is this relay's own, in another form perhaps. */
  arrivesHere?: boolean;
}

export interface SetupPlan {
  before: Outputs;
  after: Outputs;
  /**
   * The body of PUT /account; absent when everything is as wished already. A field that is not to change is not in
   * it.
   */
  change?: Partial<Outputs>;
  /** The account sends to this relay already, perhaps with an older secret; what it had before was saved then. */
  isOurs: boolean;
}

/**
 * What setup would do. Pure.
 * @throws AppError `conflict` when the account sends to an address of somebody else's and nobody said `--take-over`.
 */
export function planSetup(before: Outputs, wish: SetupWish): SetupPlan {
  const { webhookUrl, publicUrl, channel, takeOver, arrivesHere = false } = wish;
  const isOurs = before.webhookUrl !== null && (arrivesHere || isOwnHook(before.webhookUrl, publicUrl));
  if (before.webhookUrl !== null && !isOurs && !takeOver) {
    const done = webhookUrl === null ? "turned off" : "replaced";
    const hint = `If it may be ${done}, say --take-over; --restore puts it back later.`;
    throw othersAddress(before.webhookUrl, publicUrl, hint);
  }
  const after = { webhookUrl, messengerChannelId: channel === undefined ? before.messengerChannelId : channel };
  const change: Partial<Outputs> = {
    ...(before.webhookUrl !== webhookUrl && { webhookUrl }),
    ...(before.messengerChannelId !== after.messengerChannelId && { messengerChannelId: after.messengerChannelId }),
  };
  return { before, after, change: Object.keys(change).length > 0 ? change : undefined, isOurs };
}

/**
 * What `--restore` would do. Pure.
 * @throws AppError `conflict` for an address that somebody has set since setup, unless `--take-over` was said.
 */
export function planRestore(
  before: Outputs,
  { outputs: after }: SavedOutputs,
  { publicUrl, takeOver }: Pick<SetupWish, "publicUrl" | "takeOver">,
): SetupPlan {
  const { webhookUrl } = before;
  const isKnown = webhookUrl === null || webhookUrl === after.webhookUrl || isOwnHook(webhookUrl, publicUrl);
  if (!isKnown && !takeOver) {
    const hint =
      "What is to be put back was there before that. If it may be replaced all the same, say --restore --take-over.";
    throw othersAddress(webhookUrl, publicUrl, hint);
  }
  const isSame = describeDifference(after, before) === undefined;
  return { before, after, change: isSame ? undefined : after, isOurs: true };
}

/** Without PUBLIC_URL a relay cannot know whether an address is its own. */
function othersAddress(url: string, publicUrl: string | undefined, hint: string): AppError {
  const [verdict, remedy] =
    publicUrl === undefined
      ? ["", "If that is this relay, set PUBLIC_URL, so that it knows its own address. "]
      : [", and not to this relay's address", ""];
  return new AppError("conflict", `The account sends its alerts to ${showAddress(url)}${verdict}.`, {
    hint: `${remedy}${hint}`,
  });
}

/** Whether an address is a hook of the relay at `publicUrl`, whatever the secret. */
export function isOwnHook(url: string, publicUrl: string | undefined): boolean {
  if (publicUrl === undefined || !URL.canParse(url)) return false;
  const given = new URL(url);
  // PUBLIC_URL may end in a path of its own.
  const hooks = new URL(`${publicUrl}/hooks/`);
  return given.origin === hooks.origin && given.pathname.startsWith(hooks.pathname);
}

export function describeDifference(wanted: Outputs, found: Outputs): string | undefined {
  if (wanted.webhookUrl !== found.webhookUrl) return "the webhook's address";
  if (wanted.messengerChannelId !== found.messengerChannelId) return "the messenger channel";
  return undefined;
}

/** `changed`: neither what was there before the run that was cut off nor what it wanted. */
export type LeftAs = "old" | "new" | "changed" | "unknown";

/** What a run that was cut off has left. `now`: undefined where the account could not be read. */
export function judgeLastRun(last: LastRun, now: { id: string; outputs: Outputs } | undefined): LeftAs {
  if (last.step === "checking") return "old";
  if (now === undefined || now.id !== last.accountId) return "unknown";
  if (describeDifference(now.outputs, last.after) === undefined) return "new";
  return describeDifference(now.outputs, last.before) === undefined ? "old" : "changed";
}
