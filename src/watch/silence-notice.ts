import type { AlertFacts } from "../core/alert.ts";
import { ownFacts } from "../core/own-facts.ts";
import type { SilenceRule } from "../core/rules.ts";
import { createTimeFormat, formatDuration } from "../ground/time/time-format.ts";
import type { SilenceNews } from "./silence-book.ts";

const { full } = createTimeFormat("UTC");

/**
 * @param context `link`: the page where people see it. `account`: one sentence on the account that should send.
 * `hasSources`: other hooks than the account's exist
 */
export function writeSilenceNotice(
  news: SilenceNews,
  now: number,
  { link, account, hasSources = false }: { link?: string; account?: string; hasSources?: boolean },
): AlertFacts {
  const { rule, key } = news.state;
  const isSilent = news.says === "silent";
  return ownFacts({
    key: `silence:${key}`,
    link,
    title: isSilent
      ? `No alert has come${whence(rule, hasSources)} for ${formatDuration(news.state.quietMs)}`
      : `Alerts arrive again${whence(rule, hasSources)}, after ${formatDuration(news.lastedMs ?? 0)}`,
    text: isSilent ? describeSilence(news, now) : describeReturn(news),
    severity: !isSilent ? "info" : rule.of === "hook" ? "critical" : "warning",
    status: isSilent ? "firing" : "resolved",
    fields: isSilent && account !== undefined ? [{ name: "account", value: account }] : [],
  });
}

function whence({ of, name }: SilenceRule, hasSources: boolean): string {
  if (of === "hook") return hasSources ? " by the account's hook" : "";
  return of === "route" ? ` on route ${name}` : ` from ${name}`;
}

function describeSilence({ state }: SilenceNews, now: number): string {
  const { last, since, rule, usualMs, quietMs } = state;
  const came =
    last === undefined
      ? `None has arrived since this is watched, ${full(since)}.`
      : `The last one arrived at ${full(last.at)}.`;
  const awayMs = now - (last?.at ?? since) - quietMs;
  const away = awayMs >= 60_000 ? ` While Tocsin itself did not run, ${formatDuration(awayMs)}, is not counted.` : "";
  const limit =
    rule.after === "auto"
      ? usualMs === undefined
        ? ""
        : ` At these hours the quiet usually lasts ${formatDuration(usualMs)} at most.`
      : ` The limit is ${formatDuration(rule.after)}.`;
  return (
    `${came}${away}${limit} See whether the sender still sends to this ` +
    "address. If the silence is expected, mute it at Silence on the page."
  );
}

function describeReturn({ state }: SilenceNews): string {
  const came = state.last === undefined ? "" : ` The latest arrived at ${full(state.last.at)}.`;
  return `Nothing had arrived for that long.${came} What was not sent meanwhile is not in the log.`;
}
