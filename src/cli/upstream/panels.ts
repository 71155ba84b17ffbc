import { maskWebhookUrl } from "../../ground/net/shown-address.ts";
import type { Column, Panel, Section } from "../../panels/panel.ts";
import type { Account } from "../../upstream/alerting-schemas.ts";
import type { EquityPrice, PoolState, Ticker } from "../../upstream/pricing-schemas.ts";
import { formatNumber, formatPrice, formatUsd } from "./number-text.ts";

/** Who holds a hook's address can send alerts, so it is shown only when that is asked for. */
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
    {
      kind: "facts",
      rows: [
        ["Key", message],
        ["Key expires", at === undefined ? unread : { at: Date.parse(at) }],
        ["Account", account.accountName ?? ""],
        ["Account id", account.id],
        ...outputRows(account.alertOutputs),
        ["Created", account.createdAt ?? ""],
        ["Updated", account.updatedAt ?? ""],
      ],
    },
  ];
}

export const outputsPanel = (outputs: ShownAccount["alertOutputs"]): Panel => [
  { kind: "facts", rows: outputRows(outputs) },
];

const outputRows = ({ webhookUrl, messengerChannelId }: ShownAccount["alertOutputs"]) =>
  [
    ["Webhook", webhookUrl ?? "none"],
    ["Channel", messengerChannelId ?? "none"],
  ] as const;

/** A row each. The first column names it; the others are numbers, but for addresses. */
function tableOf<T>(rows: readonly T[], cells: Record<string, (row: T) => string>): Section | false {
  const isText = (title: string, place: number) => place === 0 || title === "ADDRESS";
  const columns = Object.keys(cells).map(
    (title, place): Column => (isText(title, place) ? { title, keep: true } : { title, align: "right" }),
  );
  const toRow = (row: T) => Object.values(cells).map((cell) => cell(row));
  return rows.length > 0 && { kind: "table", columns, rows: rows.map(toRow) };
}

export const poolPanel = (pool: PoolState): Panel => [
  {
    kind: "facts",
    rows: [
      ["Pool", pool.address],
      ["Chain", pool.chainId],
      ["Protocol", pool.protocol],
      ["TVL", formatUsd(pool.usdTvl)],
      ["Volume 24 h", formatUsd(pool.h24UsdVolume)],
    ],
  },
  tableOf(pool.tokens, {
    TOKEN: ({ symbol }) => symbol,
    PRICE: ({ priceUsd }) => formatPrice(priceUsd),
    AMOUNT: ({ tvl }) => formatNumber(tvl),
    TVL: ({ usdTvl }) => formatUsd(usdTvl),
    "VOLUME 24 H": ({ h24UsdVolume }) => formatUsd(h24UsdVolume),
    ADDRESS: ({ address }) => address,
  }),
  tableOf(pool.pairs, {
    PAIR: ({ base, quote }) => `${base}/${quote}`,
    PRICE: ({ baseToQuotePrice }) => formatNumber(baseToQuotePrice),
    INVERSE: ({ quoteToBasePrice }) => formatNumber(quoteToBasePrice),
    "VOLUME 24 H": ({ h24UsdVolume }) => formatUsd(h24UsdVolume),
  }),
];

export const tickerPanel = ({ id, aggregated, cex, dex }: Ticker): Panel => [
  tableOf(Object.entries({ aggregated, centralized: cex, decentralized: dex }), {
    [id]: ([name]) => name,
    PRICE: ([, market]) => formatPrice(market?.price),
    "VOLUME 24 H": ([, market]) => formatUsd(market?.h24UsdVolume),
    TVL: ([name]) => (name === "decentralized" ? formatUsd(dex?.usdTvl) : ""),
  }),
];

export const pricesPanel = (prices: readonly EquityPrice[]): Panel => [
  tableOf(prices, {
    SYMBOL: ({ symbol }) => symbol,
    PRICE: ({ price }) => (typeof price === "string" ? price : formatNumber(price)),
  }),
];
