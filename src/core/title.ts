import { groupDigits } from "../ground/numbers/format-number.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { boundaryBefore, cut } from "../ground/text/graphemes.ts";
import type { AlertFacts, AlertStatus } from "./alert.ts";

/** In UTF-16 units. */
export const longestTitle = 300;

/** The parts of a title that a monitor writes in a fixed frame. */
export interface FramedTitle {
  name: string;
  /** `rpc-2`, `EU Ireland`. Empty where the title names none. */
  place: string;
}

/** Datadog's `[Triggered on {host:rpc-2}] RPC error rate`. The tag's name is dropped. */
const datadogFrame = /^\[(?:re-)?(triggered|recovered)(?: on \{([^{}\]]{1,120})\})?\] (\S.*)$/i;
/** CloudWatch's `ALARM: "KeeperBalanceLow" in EU (Ireland)`. */
const cloudWatchFrame = /^(ALARM|OK): "([^"]{1,255})" in ([\w .()-]{1,60})$/;

/** Undefined without a frame. Undefined also where the frame's state differs from the alert's, so the reader sees both. */
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

/** Drops the word of the state in front ("Resolved: TVL fell"), for a line that names the state itself. */
export function titleWithoutState(title: string): string {
  const plain = withoutFrame(cleanLine(title), "resolved");
  const rest = plain.replace(/^[^\p{L}\p{N}]{0,8}(?:resolved|recovered|ok)(?:[^\p{L}\p{N}]{1,4}| - )(?=\S)/iu, "");
  return rest === "" ? plain : rest;
}

/** A number that is no part of an id ("A#1013#", "1013/7", "1013-A"). */
const loneNumber = /(?<![\p{L}\d_.,+#/\\@&-])[+-]?\d+(?:\.\d+)?(?![\p{L}\d_#/\\@&]|[.,:-][\p{L}\d])/gu;

type Titled = Pick<AlertFacts, "title" | "value" | "previousValue" | "threshold"> & Partial<Pick<AlertFacts, "status">>;

/** How titles of resolving alerts begin, ours among them. */
const beginningOfEnd =
  /^[^\p{L}\p{N}]{0,8}(?:(?:resolved|recovered)(?!\p{L})|over(?: after |:)|ok ?[:\]),.!–—-])|^(?:✅|✔|☑|🟢)/iu;

export function shortTitle(facts: Titled, maxUnits: number): string {
  return cutTitle(writeTitle(facts), maxUnits);
}

/** Like `cut`, but never inside a number, which would become another number. */
export function cutTitle(title: string, maxUnits: number): string {
  if (title.length <= maxUnits) return title;
  let end = boundaryBefore(title, maxUnits - 1);
  if (isOfNumber(title, end)) while (end > 0 && isOfNumber(title, end - 1)) end -= 1;
  return end === 0 ? cut(title, maxUnits) : `${title.slice(0, end).trimEnd()}…`;
}

/** A digit, or a sign between digits. */
function isOfNumber(title: string, at: number): boolean {
  const char = title.charAt(at);
  return /\d/.test(char) || (/[.,]/.test(char) && /\d/.test(title.charAt(at + 1)));
}

/** Removes a monitor's frame, and groups the digits of the alert's own numbers. Numbers in an id or an address stay as sent. */
export function writeTitle({ title, value, previousValue, threshold, status }: Titled): string {
  const own = new Set([value, previousValue, threshold]);
  const written = withoutFrame(cleanLine(title), status).replace(loneNumber, (number) =>
    own.has(number) ? groupDigits(number) : number,
  );
  return sayFiring(written, status);
}

/** A title must not begin as if the alert were over, where its sender says that it fires. */
export function sayFiring(title: string, status: AlertStatus | undefined): string {
  return status === "firing" && beginningOfEnd.test(title) ? `Firing: ${title}` : title;
}
