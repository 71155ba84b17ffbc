import { maskWebhookUrl } from "../../ground/net/shown-address.ts";
import { groupDigits } from "../../ground/numbers/format-number.ts";
import type { Fact, Panel } from "../../panels/panel.ts";
import { factsOf, tableOf } from "../../panels/sections.ts";
import type { Account } from "../../upstream/alerting-client.ts";
import type { EquityPrice, PoolState, Ticker } from "../../upstream/pricing-client.ts";
import { type Output, terminalText } from "../shell/output.ts";
import { layOutTable } from "../shell/table.ts";

/** Anybody who knows a hook's address can send alerts, so it is only shown on request. */
export function showAccount(account: Account, { showSecrets }: { showSecrets?: boolean }) {
  const { alertOutputs, apiKeyExpiresAt: at } = account;
  const { webhookUrl } = alertOutputs;
  const isMasked = webhookUrl !== null && !showSecrets;
  return {
    ...account,
    alertOutputs: isMasked ? { ...alertOutputs, webhookUrl: maskWebhookUrl(webhookUrl) } : alertOutputs,
    apiKeyExpiresAt: at === undefined ? undefined : new Date(at).toISOString(),
  };
}

type ShownAccount = ReturnType<typeof showAccount>;

export function accountPanel(account: ShownAccount, message = "accepted"): Panel {
  const { apiKeyExpiresAt: at, apiKeyExpirationTimestamp: given } = account;
  const unread = given === undefined || given === null ? "not given" : `cannot be read: ${JSON.stringify(given)}`;
  return [
    factsOf([
      ["Key", message],
      ["Key expires", at === undefined ? unread : { at: Date.parse(at) }],
      ["Account", account.accountName ?? ""],
      ["Account id", account.id],
      ...outputFacts(account.alertOutputs),
      ["Created", account.createdAt ?? ""],
      ["Updated", account.updatedAt ?? ""],
    ]),
  ];
}

export const outputFacts = ({ webhookUrl, messengerChannelId }: ShownAccount["alertOutputs"]): Fact[] => [
  ["Webhook", webhookUrl ?? "none"],
  ["Channel", messengerChannelId ?? "none"],
];

const right = <T>(of: (row: T) => string) => ({ of, align: "right" as const, optional: false });

export const poolPanel = (pool: PoolState): Panel => [
  factsOf([
    ["Pool", pool.address],
    ["Chain", pool.chainId],
    ["Protocol", pool.protocol],
    ["TVL", formatUsd(pool.usdTvl)],
    ["Volume 24 h", formatUsd(pool.h24UsdVolume)],
  ]),
  tableOf(
    pool.tokens,
    {
      TOKEN: ({ symbol }) => symbol,
      PRICE: right(({ priceUsd }) => formatPrice(priceUsd)),
      AMOUNT: right(({ tvl }) => formatNumber(tvl)),
      TVL: right(({ usdTvl }) => formatUsd(usdTvl)),
      "VOLUME 24 H": right(({ h24UsdVolume }) => formatUsd(h24UsdVolume)),
      ADDRESS: ({ address }) => address,
    },
    { keep: ["TOKEN", "ADDRESS"] },
  ),
  tableOf(pool.pairs, {
    PAIR: ({ base, quote }) => `${base}/${quote}`,
    PRICE: right(({ baseToQuotePrice }) => formatNumber(baseToQuotePrice)),
    INVERSE: right(({ quoteToBasePrice }) => formatNumber(quoteToBasePrice)),
    "VOLUME 24 H": right(({ h24UsdVolume }) => formatUsd(h24UsdVolume)),
  }),
];

export const tickerPanel = ({ id, aggregated, cex, dex }: Ticker): Panel => [
  tableOf(Object.entries({ aggregated, centralized: cex, decentralized: dex }), {
    [id]: ([name]) => name,
    PRICE: right(([, market]) => formatPrice(market?.price)),
    "VOLUME 24 H": right(([, market]) => formatUsd(market?.h24UsdVolume)),
    TVL: right(([name]) => (name === "decentralized" ? formatUsd(dex?.usdTvl) : "")),
  }),
];

export const pricesPanel = (prices: readonly EquityPrice[]): Panel => [
  tableOf(prices, {
    SYMBOL: ({ symbol }) => symbol,
    PRICE: right(({ price }) => (typeof price === "string" ? price : formatNumber(price))),
  }),
];

/** A number with all its digits: `1,234,567.89`. */
export function formatNumber(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : groupDigits(String(value));
}

/** Two decimals. Up to `fraction` from one to a thousand dollars, `significant` digits below a dollar. */
function dollars(fraction: number, significant: number) {
  return (value: number | null | undefined): string => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const few =
      size >= 1 || size === 0 ? { maximumFractionDigits: fraction } : { maximumSignificantDigits: significant };
    return value.toLocaleString("en-US", { style: "currency", currency: "USD", ...(size < 1_000 && few) });
  };
}

/** `$1,234.57`, `$0.001235` */
export const formatUsd = dollars(2, 4);

/** `$91,204.15`, `$1.000213` (a stable coin a little off), `$0.00001234` */
export const formatPrice = dollars(6, 6);

const leading = ["id", "key", "symbol", "name", "chainId", "chain", "address"];
/** Fields that are copied into the next command are never cut. */
const copied = /(^|\.)(id|key|address)$|(Id|Key|Address)$/;

/** The fields are undocumented. Columns are those with a value in the first page, nested ones as `outer.inner`. */
export function createLooseTable({ style, width }: Pick<Output, "style" | "width">) {
  let draw: ((items: readonly object[]) => string) | undefined;
  return (items: readonly object[]): string => {
    if (draw !== undefined || items.length === 0) return draw?.(items) ?? "";
    const values = items.flatMap((item) => flatten(item)).filter(([, value]) => value !== null && value !== undefined);
    const textual = new Set(values.flatMap(([name, value]) => (typeof value === "number" ? [] : name)));
    const names = [...new Set(values.map(([name]) => name))].sort((a, b) => rank(a) - rank(b));
    const toRows = (page: readonly object[]) =>
      page.map((item) => {
        const cells = new Map(flatten(item));
        return names.map((name) => terminalText(cellText(cells.get(name))));
      });
    const columns = names.map((name) => ({
      title: style("bold", terminalText(name)),
      align: textual.has(name) ? undefined : ("right" as const),
      keep: copied.test(name),
    }));
    const layout = layOutTable(columns, toRows(items), width);
    draw = (page) => layout.rows(toRows(page));
    return layout.head() + draw(items);
  };
}

/** Nested objects become dotted names, three levels deep. Deeper ones, and lists, are one value. */
function flatten(item: object, prefix = "", depth = 0): [string, unknown][] {
  return Object.entries(item).flatMap(([name, value]): [string, unknown][] => {
    const isNested = typeof value === "object" && value !== null && !Array.isArray(value) && depth < 2;
    return isNested ? flatten(value, `${prefix}${name}.`, depth + 1) : [[prefix + name, value]];
  });
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((element) => typeof element !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function rank(name: string): number {
  const path = name.split(".");
  const place = leading.indexOf(path.at(-1) ?? "");
  return (place === -1 ? leading.length : place) + (path.length - 1) * (leading.length + 1);
}
