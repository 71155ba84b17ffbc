import { groupDigits } from "../ground/numbers/format-number.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { boundaryBefore, cut } from "../ground/text/graphemes.ts";
import type { AlertFacts, AlertStatus } from "./alert.ts";

/** In UTF-16 units. */
export const longestTitle = 300;

/** A title in the frame of a monitor's state: its name and its place. */
export interface FramedTitle {
  name: string;
  /** `rpc-2`, `EU Ireland`. Empty where the title names none. */
  place: string;
}

/** Datadog's `[Triggered on {host:rpc-2}] RPC error rate`. The tag's name is dropped: no reader needs it. */
const datadogFrame = /^\[(?:re-)?(triggered|recovered)(?: on \{([^{}\]]{1,120})\})?\] (\S.*)$/i;
/** CloudWatch's `ALARM: "KeeperBalanceLow" in EU (Ireland)`. */
const cloudWatchFrame = /^(ALARM|OK): "([^"]{1,255})" in ([\w .()-]{1,60})$/;

/** Undefined for a title without a frame, and for a title whose state differs from the alert's: the reader needs that word. */
export function readFrame(title: string, status: AlertStatus | undefined): FramedTitle | undefined {
  const [, alarmState, alarm, region = ""] = cloudWatchFrame.exec(title) ?? [];
  if (alarm !== undefined)
    return isOver(alarmState === "OK", status) ? { name: alarm, place: region.replace(/[()]/g, "").trim() } : undefined;
  const [, state = "", tags = "", name] = datadogFrame.exec(title) ?? [];
  if (name === undefined || !isOver(state.toLowerCase() === "recovered", status)) return undefined;
  const values = tags.split(",").map((tag) => tag.slice(tag.indexOf(":") + 1).trim());
  return { name, place: values.filter(Boolean).join(", ") };
}

function isOver(isSaid: boolean, status: AlertStatus | undefined): boolean {
  return status === (isSaid ? "resolved" : "firing");
}

function withoutFrame(title: string, status: AlertStatus | undefined): string {
  const framed = readFrame(title, status);
  return framed === undefined ? title : `${framed.name}${framed.place === "" ? "" : ` (${framed.place})`}`;
}

/** A title without the word of its state in front ("Resolved: TVL fell"), for a line that names the state itself. */
export function titleWithoutState(title: string): string {
  const plain = withoutFrame(cleanLine(title), "resolved");
  const rest = plain.replace(/^[^\p{L}\p{N}]{0,8}(?:resolved|recovered|ok)(?:[^\p{L}\p{N}]{1,4}| - )(?=\S)/iu, "");
  return rest === "" ? plain : rest;
}

/** A number that is no part of an id ("A#1013#", "1013/7", "1013-A"). */
const loneNumber = /(?<![\p{L}\d_.,+#/\\@&-])[+-]?\d+(?:\.\d+)?(?![\p{L}\d_#/\\@&]|[.,:-][\p{L}\d])/gu;

type Titled = Pick<AlertFacts, "title" | "value" | "previousValue" | "threshold"> & Partial<Pick<AlertFacts, "status">>;

/** Beginnings of titles of ends, including ours. */
const beginningOfEnd =
  /^[^\p{L}\p{N}]{0,8}(?:(?:resolved|recovered)(?!\p{L})|over(?: after |:)|ok ?[:\]),.!–—-])|^(?:✅|✔|☑|🟢)/iu;

/** The title of an alert on a line of a digest. */
export function shortTitle(facts: Titled, maxUnits: number): string {
  return cutTitle(writeTitle(facts), maxUnits);
}

/** Cuts like `cut`, but never inside a number: a part of it is another number. */
export function cutTitle(title: string, maxUnits: number): string {
  if (title.length <= maxUnits) return title;
  let end = boundaryBefore(title, maxUnits - 1);
  if (isOfNumber(title, end)) while (end > 0 && isOfNumber(title, end - 1)) end -= 1;
  return end === 0 ? cut(title, maxUnits) : `${title.slice(0, end).trimEnd()}…`;
}

/** Whether the character is a digit or a sign between digits. */
function isOfNumber(title: string, at: number): boolean {
  const char = title.charAt(at);
  return /\d/.test(char) || (/[.,]/.test(char) && /\d/.test(title.charAt(at + 1)));
}

/**
 * The title as sent, but without a monitor's frame, and with grouped digits in the alert's own numbers. Numbers in an id or an
 * address are never grouped.
 */
export function writeTitle({ title, value, previousValue, threshold, status }: Titled): string {
  const own = new Set([value, previousValue, threshold]);
  const written = withoutFrame(cleanLine(title), status).replace(loneNumber, (number) =>
    own.has(number) ? groupDigits(number) : number,
  );
  return sayFiring(written, status);
}

/** The title of an alert that fires by the sender's word never begins as if the alert were over. */
export function sayFiring(title: string, status: AlertStatus | undefined): string {
  return status === "firing" && beginningOfEnd.test(title) ? `Firing: ${title}` : title;
}
