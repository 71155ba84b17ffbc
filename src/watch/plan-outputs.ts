import { AppError } from "../core/errors.ts";
import type { AccountReading, AccountService, Outputs, Registration } from "../core/ports/account.ts";
import { showAddress } from "../ground/net/shown-address.ts";
import { secretInHook } from "./hook-address.ts";
import { type AccountNames, accountNames } from "./judge-account.ts";

export interface Hook {
  url: string;
  /** Whether an address is a hook of this relay: services may write the same address in another form. */
  isHere(url: string): boolean;
}

export interface OutputsPlan {
  before: Outputs;
  after: Outputs;
  /**
   * The account already sends to this relay, perhaps with an older secret. What it had before was saved when it began to send
   * here.
   */
  isOurs: boolean;
}

export interface SetupWish {
  /** Absent: the account should send to no webhook. */
  hook?: Hook;
  /** Absent: none is configured, so no address counts as the relay's own. */
  publicUrl?: string;
  /** A channel id sets the channel, null clears it, `undefined` leaves it. */
  channel?: string | null;
  /** Whether an address of others may be replaced or turned off. */
  takeOver?: boolean;
}

/** @throws AppError `conflict` when the account sends to somebody else's address and `--take-over` is missing. */
export function planSetup(before: Outputs, { hook, publicUrl, channel, takeOver }: SetupWish): OutputsPlan {
  const { webhookUrl: found } = before;
  const isHere = found !== null && hook?.isHere(found) === true;
  const isOurs = isHere || isOwnHook(found, publicUrl);
  if (found !== null && !isOurs && !takeOver) {
    const done = hook === undefined ? "turned off" : "replaced";
    throw othersAddress(found, publicUrl, `If it may be ${done}, say --take-over; --restore puts it back later.`);
  }
  const webhookUrl = isHere ? found : (hook?.url ?? null);
  const messengerChannelId = channel === undefined ? before.messengerChannelId : channel;
  return { before, after: { webhookUrl, messengerChannelId }, isOurs };
}

/**
 * @param after the outputs before setup
 * @throws AppError `conflict` for an address that somebody has set since setup, when `--take-over` is missing.
 */
export function planRestore(
  before: Outputs,
  after: Outputs,
  { publicUrl, takeOver }: Pick<SetupWish, "publicUrl" | "takeOver">,
): OutputsPlan {
  const { webhookUrl: found } = before;
  if (found === null || found === after.webhookUrl || isOwnHook(found, publicUrl) || takeOver)
    return { before, after, isOurs: true };
  const hint = "What is to be put back was there before that. If it may be replaced, say --restore --take-over.";
  throw othersAddress(found, publicUrl, hint);
}

/** Without PUBLIC_URL a relay cannot recognize its own address. */
function othersAddress(url: string, publicUrl: string | undefined, hint: string): AppError {
  const [verdict, remedy] =
    publicUrl === undefined
      ? ["", "If that is this relay, set PUBLIC_URL, so that it knows its own address. "]
      : [", and not to this relay's address", ""];
  return new AppError("conflict", `The account sends its alerts to ${showAddress(url)}${verdict}.`, {
    hint: `${remedy}${hint}`,
  });
}

/** Only an address that is surely this relay's may be replaced unasked. Another name of this machine is not enough. */
export function isOwnHook(url: string | null, publicUrl: string | undefined): boolean {
  if (url === null || publicUrl === undefined || secretInHook(url, publicUrl) === undefined) return false;
  return new URL(url).origin === new URL(publicUrl).origin;
}

/**
 * The change after which the account sends to this relay as registered. Undefined: no change is needed. Pure.
 * @param names for the hint. Default: those of the account of `ALERTING_URL`
 * @throws AppError `not_found` when nothing was registered here, `conflict` for another account or one whose webhook
 * setup has turned off.
 */
export function planPutBack(
  reading: AccountReading,
  registration: Registration | undefined,
  hook: Hook,
  names: AccountNames = accountNames(),
): Partial<Outputs> | undefined {
  if (registration === undefined) {
    throw new AppError("not_found", "There is nothing to put back: this relay was not registered from here yet.", {
      hint: `Register it with: ${names.setup}`,
    });
  }
  if (reading.id !== registration.accountId) {
    throw new AppError("conflict", "The API key belongs to another account than the one that was set up.", {
      hint: `Set the right ${names.key}; or, if the other account is meant, run: ${names.setup}`,
    });
  }
  if (registration.webhookOff) {
    throw new AppError("conflict", "Setup has turned the account's webhook off, so there is nothing to put back.", {
      hint: `Turn it on again with: ${names.setup}`,
    });
  }
  return changeOf(reading, { webhookUrl: hook.url, messengerChannelId: registration.messengerChannelId }, hook.isHere);
}

/** The parts of `after` that differ. Undefined parts may have any value. @param isHere two such addresses are equal */
export function changeOf(
  before: Partial<Outputs>,
  { webhookUrl, messengerChannelId }: Partial<Outputs>,
  isHere: Hook["isHere"] = () => false,
): Partial<Outputs> | undefined {
  const lead = [before.webhookUrl, webhookUrl].every((url) => typeof url === "string" && isHere(url));
  const isSame = webhookUrl === undefined || webhookUrl === before.webhookUrl || lead;
  const change = {
    ...(!isSame && { webhookUrl }),
    ...(messengerChannelId !== undefined && messengerChannelId !== before.messengerChannelId && { messengerChannelId }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

export function describeDifference(...compared: Parameters<typeof changeOf>): string | undefined {
  const change = changeOf(...compared);
  if (change === undefined) return undefined;
  return "webhookUrl" in change ? "the webhook's address" : "the messenger channel";
}

/**
 * Changes the account, and reads the change back.
 * @param undo how to undo it, for a failure: a sentence after `. `
 * @throws AppError `failed` when the account reads back differently.
 */
export async function changeOutputs(
  service: AccountService,
  change: Partial<Outputs>,
  { isHere, undo = "", signal }: { isHere: Hook["isHere"]; undo?: string; signal?: AbortSignal },
): Promise<void> {
  await service.setAlertOutputs(change, { signal });
  const difference = describeDifference(await service.lookAtAccount({ signal }), change, isHere);
  if (difference === undefined) return;
  throw new AppError("failed", `The service took the change, but ${difference} reads back differently.`, {
    hint: `Look at it with: tocsin upstream outputs${undo}`,
  });
}
